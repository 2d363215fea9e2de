/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { Child } from 'hono/jsx'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import type { Client, Person } from '../../service.ts'
import type { ClockState } from '../../state/clock.ts'
import type { FaultRule } from '../../state/faults.ts'
import type { JournalEntry } from '../../state/journal.ts'
import type { Logins } from '../../state/login-traces.ts'
import { Fact } from '../../ui/fact.tsx'
import { showPage } from '../../ui/layout.tsx'
import { Table } from '../../ui/table.tsx'
import { Controls } from './dev-controls.tsx'
import type { JournalFilter } from './dev-journal.tsx'
import { Journal } from './dev-journal.tsx'
import { liveScript, liveScriptHash } from './dev-live.ts'
import { LoginList } from './login.tsx'

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
