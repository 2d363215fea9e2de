/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import { PasswordField } from '../../sign-in/views/sign-in-form.tsx'
import type { RegistryEvent } from '../../state/journal.ts'
import type { RegisteredClient } from '../../store/tables/clients.ts'
import type { ClientSecret } from '../../store/tables/tenant/client-registry.ts'
import type { RegistryChange } from '../../store/tables/tenant/registry-changes.ts'
import { Fact } from '../../ui/fact.tsx'
import { showPage } from '../../ui/layout.tsx'
import { Table } from '../../ui/table.tsx'

interface ClientPage {
  client: RegisteredClient
  secrets: ClientSecret[]
  /** Newest first. */
  changes: RegistryChange[]
  token: string
  /** Of the admin, whose password is asked for. */
  email: string
  status: 200 | 403 | 422 | 429 | 503
  problem: string | undefined
}

const changeTexts: Record<RegistryEvent, string> = {
  client_created: 'registered',
  client_activated: 'activated',
  client_deactivated: 'deactivated',
  client_secret_created: 'new secret',
  client_secret_retired: 'secret retired',
}

export function showClient(c: Context<HttpEnvironment>, page: ClientPage): Promise<Response> {
  const { client, status, problem } = page
  const children = (
    <>
      {problem === undefined ? null : <p role="alert">{problem}</p>}
      <dl>
        <Fact name="Client id">
          <code>{client.id}</code>
        </Fact>
        <Fact name="Kind">{client.kind}</Fact>
        {client.redirectUris.map((uri) => (
          <Fact name="Redirect URI">
            <code>{uri}</code>
          </Fact>
        ))}
        <Fact name="State">{client.active ? 'active' : 'inactive'}</Fact>
      </dl>
      <Activity {...page} />
      {client.kind === 'confidential' ? <Secrets {...page} /> : null}
      <h2>Changes</h2>
      <Table
        label="Changes, newest first"
        columns={['Time', 'What', 'Who']}
        rows={page.changes.map(({ atMs, event, actor }) => [timeText(atMs), changeTexts[event], actor])}
        narrow="lines"
        empty="None since the service was set up."
      />
      <p class="aside">
        <a href="/auth/v1/clients">Back to the clients</a>
      </p>
    </>
  )
  return showPage(c, { status, title: client.name, children })
}

function Activity({ client, token }: ClientPage) {
  return (
    <form method="post" action={`/auth/v1/clients/${client.id}/activity`}>
      <input type="hidden" name="token" value={token} />
      <button class="plain" type="submit" name="activity" value={client.active ? 'inactive' : 'active'}>
        {client.active ? 'Deactivate' : 'Activate'}
      </button>
    </form>
  )
}

function Secrets({ client, secrets, token, email }: ClientPage) {
  const action = `/auth/v1/clients/${client.id}/secrets`
  const isRotating = secrets.length > 1
  return (
    <section>
      <h2>Secrets</h2>
      {secrets.map(({ id, createdMs }) => (
        <form method="post" action={`${action}/retire`}>
          <input type="hidden" name="token" value={token} />
          <p>Made {timeText(createdMs)}</p>
          {isRotating ? (
            <button class="plain" type="submit" name="secret" value={id}>
              Retire this secret
            </button>
          ) : null}
        </form>
      ))}
      {isRotating ? (
        <p>Both work until you retire one.</p>
      ) : (
        <form method="post" action={action}>
          <input type="hidden" name="token" value={token} />
          <PasswordField label="Your password again" username={email} />
          <button type="submit">Make a new secret</button>
        </form>
      )}
    </section>
  )
}

function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
