/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { Child } from 'hono/jsx'
import type { HttpEnvironment } from '../http/environment.ts'
import type { JournalEntry } from '../journal.ts'
import type { Client, Person } from '../service.ts'
import { showPage } from './layout.tsx'

interface DevPage {
  people: Person[]
  clients: Client[]
  journal: JournalEntry[]
  effects: readonly string[]
  nowMs: number
  token: string
  status: 200 | 422
  notice?: string
}

const mostShown = 50

export function showDevPage(c: Context<HttpEnvironment>, page: DevPage): Promise<Response> {
  const { notice, nowMs, journal } = page
  const children = (
    <>
      {notice === undefined ? null : (
        <p role="alert">
          <code>{notice}</code>
        </p>
      )}
      <p>Service time {new Date(nowMs).toISOString()}</p>
      <Controls {...page} />
      <Accounts {...page} />
      <h2>Journal, newest first</h2>
      <Table columns={['Time', 'What', 'Client']} rows={journal.slice(-mostShown).reverse().map(journalRow)} />
    </>
  )
  return showPage(c, { status: page.status, title: 'Dev controls', width: 'wide', children })
}

function Accounts({ people, clients }: DevPage) {
  return (
    <>
      <h2>People</h2>
      <Table
        columns={['Email', 'Password', 'Tenant', 'Permissions']}
        rows={people.map(({ email, password, tenant, permissions }) => [
          email,
          password || 'as printed at the first start',
          tenant,
          permissions.join(' '),
        ])}
      />
      <h2>Clients</h2>
      <Table
        columns={['Name', 'Kind', 'Client id', 'Secret', 'Redirect URIs']}
        rows={clients.map(({ name, kind, clientId, clientSecret, redirectUris }) => [
          name,
          kind,
          clientId,
          clientSecret ?? '–',
          redirectUris.join(' '),
        ])}
      />
    </>
  )
}

function Controls({ token, people, effects }: DevPage) {
  const emails = people.map(({ email }) => email)
  return (
    <div class="controls">
      <Control token={token} action="advance" button="Advance the clock">
        <label for="minutes">Minutes</label>
        <input id="minutes" name="minutes" type="number" min={0} value="10" required />
      </Control>
      <Control token={token} action="auto-approve" button="Sign in by itself">
        <Choice id="automatic" label="Person" name="email" options={['', ...emails]} />
      </Control>
      <Control token={token} action="session-token" button="Mint a session token">
        <Choice id="minted" label="Person" name="email" options={emails} />
      </Control>
      <Control token={token} action="add-fault" button="Add a fault">
        <Choice id="effect" label="Effect" name="effect" options={effects} />
        <label for="path">Path, empty for all</label>
        <input id="path" name="path" value="/auth/v1/token" />
        <label for="times">Times</label>
        <input id="times" name="times" type="number" min={1} value="1" required />
      </Control>
      <Control token={token} action="clear-faults" button="Clear faults" />
      <Control token={token} action="expire" button="Expire access tokens" />
      <Control token={token} action="revoke" button="Revoke refresh tokens" />
      <Control token={token} action="reset" button="Back to the seed" />
    </div>
  )
}

interface ControlProps {
  token: string
  action: string
  button: string
  children?: Child
}

function Control({ token, action, button, children }: ControlProps) {
  return (
    <form method="post" action="/_dev/do">
      <input type="hidden" name="token" value={token} />
      {children}
      <button class="plain" type="submit" name="action" value={action}>
        {button}
      </button>
    </form>
  )
}

function Choice({ id, label, name, options }: { id: string; label: string; name: string; options: readonly string[] }) {
  return (
    <>
      <label for={id}>{label}</label>
      <select id={id} name={name}>
        {options.map((option) => (
          <option value={option}>{option === '' ? 'nobody' : option}</option>
        ))}
      </select>
    </>
  )
}

function Table({ columns, rows }: { columns: string[]; rows: string[][] }) {
  return (
    <table>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col">{column}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells) => (
          <tr>
            {cells.map((cell) => (
              <td>
                <bdi>{cell}</bdi>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function journalRow(entry: JournalEntry): string[] {
  const time = new Date(entry.atMs).toISOString().slice(11, 23)
  if (entry.kind === 'event') return [time, entry.event, entry.clientId ?? '']
  const { origin, method, path, status, grantType, fault } = entry
  const extras = [grantType, fault === undefined ? undefined : `fault: ${fault}`].filter((part) => part !== undefined)
  return [time, [origin, method, path, String(status), ...extras].join(' '), entry.clientId ?? '']
}
