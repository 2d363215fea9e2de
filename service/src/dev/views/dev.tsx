/** @jsxImportSource hono/jsx */

import type { Context } from 'hono'
import type { Child } from 'hono/jsx'
import type { HtmlEscapedString } from 'hono/utils/html'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import type { Client, Person } from '../../service.ts'
import type { ClockState, FaultRule, JournalEntry } from '../../state.ts'
import { Fact, showPage } from '../../ui/pages.tsx'
import { Table } from '../../ui/table.tsx'
import type { Logins } from '../login-traces.ts'
import { Choice, Controls } from './dev-controls.tsx'
import { LoginList, liveScript, liveScriptHash } from './login.tsx'

/** Which entries of the journal the page shows. An empty text is every client or person. */
interface JournalFilter {
  client: string
  person: string
}

interface JournalProps {
  journal: readonly JournalEntry[]
  filter: JournalFilter
  clients: readonly Client[]
  people: readonly Person[]
  emailOf(personId: string | undefined): string
}

const mostShown = 50

/** Shows the latest requests and events of a client and a person, with the form that chooses them. */
export function Journal(props: JournalProps): HtmlEscapedString | Promise<HtmlEscapedString> {
  const { journal, filter, clients, people, emailOf } = props
  const shown = journal.filter(
    ({ clientId = '', personId }) =>
      (filter.client === '' || clientId === filter.client) &&
      (filter.person === '' || emailOf(personId) === filter.person),
  )
  return (
    <>
      <form class="bar" method="get" action="/_dev#requests">
        <Choice
          id="of-client"
          label="Client"
          name="client"
          options={['', ...clients.map(({ clientId }) => clientId)]}
          chosen={filter.client}
          textOf={(id) => clients.find(({ clientId }) => clientId === id)?.name ?? 'every client'}
        />
        <Choice
          id="of-person"
          label="Person"
          name="person"
          options={['', ...people.map(({ email }) => email)]}
          chosen={filter.person}
          textOf={(email) => email || 'every person'}
        />
        <button class="plain" type="submit">
          Filter
        </button>
      </form>
      <div id="requests" data-live="">
        <Table
          label="Requests and events, newest first"
          columns={['Time', 'Request or event', 'Response', 'Client', 'Person']}
          rows={shown
            .slice(-mostShown)
            .reverse()
            .map((entry) => [...journalRow(entry), emailOf(entry.personId)])}
          narrow="lines"
          empty="No requests yet."
        />
      </div>
    </>
  )
}

function journalRow(entry: JournalEntry): string[] {
  const time = new Date(entry.atMs).toISOString().slice(11, 23)
  if (entry.kind === 'event') return [time, entry.event, '', entry.clientId ?? '']
  const { origin, method, path, status, grantType, fault } = entry
  const response = fault === undefined ? String(status) : `${status}, fault: ${fault}`
  return [time, [origin, method, path, grantType ?? ''].join(' ').trim(), response, entry.clientId ?? '']
}

/** The result of a button: done, refused, or a secret that is shown once. */
export interface Notice {
  kind: 'done' | 'refused' | 'secret'
  text: string
}

interface DevPage {
  people: Person[]
  clients: Client[]
  journal: JournalEntry[]
  filter: JournalFilter
  logins: ReturnType<Logins['list']>
  clientName(id: string | undefined): string
  emailOf(id: string | undefined): string
  faults: FaultRule[]
  effects: readonly string[]
  nowMs: number
  clock: ClockState
  autoApproved: string | undefined
  baseUrl: string
  token: string
  notice: Notice | undefined
}

/** Shows the dev page. Its policy allows one script, and requests to its own origin. */
export function showDevPage(c: Context<HttpEnvironment>, page: DevPage): Promise<Response> {
  const { notice, baseUrl, filter } = page
  const children = (
    <>
      {notice === undefined ? null : <NoticeLine {...notice} />}
      <State {...page} />
      <p class="soft" id="live">
        Reload the page to see new requests.
      </p>
      <h2>Logins</h2>
      <div id="logins" data-live="">
        <LoginList {...page} />
      </div>
      <Folded title="Controls" open={notice !== undefined}>
        <Controls {...page} />
      </Folded>
      <Folded title="Requests" open={filter.client !== '' || filter.person !== ''}>
        <Journal {...page} />
      </Folded>
      <Accounts {...page} />
      <p>
        <a href="/auth/v1/clients">Manage API clients</a> · <a href="/auth/v1/logout">Sign out</a> ·{' '}
        <a href={`${baseUrl}/openapi.json`}>API description</a>
      </p>
    </>
  )
  const script = { text: liveScript, hash: liveScriptHash }
  const status = notice?.kind === 'refused' ? 422 : 200
  return showPage(c, { status, title: 'Dev controls', width: 'wide', script, children })
}

function Folded({ title, open = false, children }: { title: string; open?: boolean; children: Child }) {
  return (
    <details open={open}>
      <summary>
        <h2>{title}</h2>
      </summary>
      {children}
    </details>
  )
}

function NoticeLine({ kind, text }: Notice) {
  if (kind === 'done') return <p role="status">{text}</p>
  return <p role="alert">{kind === 'secret' ? <code>{text}</code> : text}</p>
}

function State({ nowMs, clock, autoApproved, faults }: DevPage) {
  const left = ({ times }: FaultRule): string => (times === undefined ? '' : ` (${times} left)`)
  return (
    <dl class="facts" id="state" data-live="">
      <Fact name="Service time">
        {new Date(nowMs).toISOString().slice(0, 19).replace('T', ' ')} UTC
        {clock === 'frozen' ? ', frozen' : ''}
      </Fact>
      <Fact name="Automatic approval">{autoApproved ?? 'off'}</Fact>
      <Fact name="Faults">
        {faults.length === 0
          ? 'none'
          : faults
              .map((fault) => `${effectText(fault)} on ${fault.match?.path ?? 'every path'}${left(fault)}`)
              .join(', ')}
      </Fact>
    </dl>
  )
}

function effectText({ effect }: FaultRule): string {
  if (typeof effect === 'string') return effect
  return 'status' in effect ? `status ${effect.status}` : `delay of ${effect.delayMs} ms`
}

function Accounts({ people, clients }: DevPage) {
  const kept = <span class="soft">stored as a hash</span>
  return (
    <>
      <Folded title="People">
        <p class="soft">Each can sign in to the clients of the same tenant only.</p>
        <Table
          label="People"
          columns={['Email', 'Password', 'Tenant', 'Permissions']}
          rows={people.map(({ email, password, tenant, permissions }) => [
            email,
            password === '' ? kept : <code>{password}</code>,
            tenant,
            permissions.join(', '),
          ])}
        />
      </Folded>
      <Folded title="Clients">
        <Table
          label="Clients"
          columns={['Name', 'Client id and secret', 'Redirect URIs']}
          rows={clients.map(({ name, kind, clientId, clientSecret, redirectUris }) => [
            name,
            <>
              <code>{clientId}</code>
              {kind === 'public' ? null : clientSecret === undefined ? kept : <code>{clientSecret}</code>}
            </>,
            redirectUris.map((uri) => <code>{uri}</code>),
          ])}
        />
      </Folded>
    </>
  )
}
