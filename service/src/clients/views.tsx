/** @jsxImportSource hono/jsx */

import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { requestLimits } from '../limits.ts'
import type { ClientSecret, RegistryChange } from '../store/client-registry.ts'
import type { ClientRecord, RegisteredClient } from '../store/clients.ts'
import type { Account } from '../store/logins.ts'
import type { RegistryEvent } from '../store/schema.ts'
import { Fact, PasswordField, SignInForm, showPage } from '../ui/pages.tsx'
import { Table } from '../ui/table.tsx'

interface CredentialsPage {
  name: string
  clientId: string
  clientSecret: string | undefined
}

/** Shows a secret. No other page does, and this one only in the response to making it (spec 5.1). */
export function showCredentials(
  c: Context<HttpEnvironment>,
  { name, clientId, clientSecret }: CredentialsPage,
): Promise<Response> {
  const children = (
    <>
      {clientSecret === undefined ? null : <p role="status">Copy the secret now. It is not shown again.</p>}
      <dl>
        <Fact name="Name">{name}</Fact>
        <Fact name="Client id">
          <code id="client-id">{clientId}</code>
        </Fact>
        {clientSecret === undefined ? null : (
          <Fact name="Client secret">
            <code id="client-secret">{clientSecret}</code>
          </Fact>
        )}
      </dl>
      <p>
        <a href={`/auth/v1/clients/${clientId}`}>Go to the client</a>
      </p>
    </>
  )
  return showPage(c, { status: 200, title: clientSecret === undefined ? 'Registered' : 'Your client secret', children })
}

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

interface ClientsSignInPage {
  token: string
  status: 200 | 403 | 429 | 503
  problem?: string
  email?: string | undefined
}

export function showClientsSignIn(
  c: Context<HttpEnvironment>,
  { token, status, problem, email }: ClientsSignInPage,
): Promise<Response> {
  const children = (
    <SignInForm action="/auth/v1/clients/sign-in" problem={problem} email={email}>
      <input type="hidden" name="token" value={token} />
    </SignInForm>
  )
  return showPage(c, { status, title: 'Sign in to manage API clients', children })
}

interface ClientsPage {
  admin: { account: Account; token: string }
  clients: ClientRecord[]
  tenantName: string
}

export function showClients(
  c: Context<HttpEnvironment>,
  { admin, clients, tenantName }: ClientsPage,
): Promise<Response> {
  const children = (
    <>
      <div class="bar">
        <p>
          Tenant <bdi>{tenantName}</bdi>, signed in as {admin.account.email}
        </p>
        <a class="button" href="/auth/v1/clients/new">
          Register a client
        </a>
      </div>
      <Table
        label="API clients"
        columns={['Name', 'Kind', 'State', 'Client id']}
        rows={clients.map(({ id, name, kind, active }) => [
          <a href={`/auth/v1/clients/${id}`}>{name}</a>,
          kind,
          active ? 'active' : 'inactive',
          <code>{id}</code>,
        ])}
        empty="No clients yet."
      />
      <form class="bar" method="post" action="/auth/v1/clients/sign-out">
        <input type="hidden" name="token" value={admin.token} />
        <button class="plain" type="submit">
          Sign out
        </button>
      </form>
    </>
  )
  return showPage(c, { status: 200, title: 'API clients', width: 'wide', children })
}

interface NewClientPage {
  token: string
  /** Of the admin, whose password is asked for. */
  email: string
  status: 200 | 403 | 422 | 429 | 503
  problem?: string
  /** The rejected input, for correction. */
  asked?: { name: string; kind: string; redirectUris: string[] }
}

export function showNewClient(c: Context<HttpEnvironment>, page: NewClientPage): Promise<Response> {
  const { token, email, status, problem, asked } = page
  const children = (
    <form method="post" action="/auth/v1/clients">
      {problem === undefined ? null : <p role="alert">{problem}</p>}
      <input type="hidden" name="token" value={token} />
      <label for="name">Name</label>
      <input
        id="name"
        name="name"
        value={asked?.name ?? ''}
        maxlength={2 * requestLimits.clientNameCharacters}
        required
        autocomplete="off"
      />
      <fieldset>
        <legend>Kind</legend>
        <Kind value="public" text="Public: no secret, PKCE" chosen={asked?.kind !== 'confidential'} />
        <Kind value="confidential" text="Confidential: a secret, shown once" chosen={asked?.kind === 'confidential'} />
      </fieldset>
      <label for="redirect_uris">Redirect URIs, one per line</label>
      <textarea id="redirect_uris" name="redirect_uris" rows={4} required spellcheck={false}>
        {asked?.redirectUris.join('\n') ?? ''}
      </textarea>
      <PasswordField label="Your password again" username={email} />
      <button type="submit">Register</button>
      <p class="aside">
        <a href="/auth/v1/clients">Back to the clients</a>
      </p>
    </form>
  )
  return showPage(c, { status, title: 'Register a client', children })
}

function Kind({ value, text, chosen }: { value: string; text: string; chosen: boolean }) {
  return (
    <label class="choice">
      <input type="radio" name="kind" value={value} checked={chosen} /> {text}
    </label>
  )
}
