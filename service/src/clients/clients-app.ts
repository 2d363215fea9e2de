import { type Context, Hono } from 'hono'
import { clientAdminPermission } from '../access-change.ts'
import { keyedHash, sameText } from '../credentials/tokens.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { Fields } from '../http/messages.ts'
import { requestLimits } from '../limits.ts'
import {
  endSignedIn,
  ensureBrowser,
  readCookie,
  readInteractionForm,
  readSignedIn,
  type SignedIn,
  startSignedIn,
} from '../sign-in/browser.ts'
import { attemptSignIn, refusalOf } from '../sign-in/sign-in.ts'
import type { SecurityEvent } from '../state.ts'
import { clientRegistryOf } from '../store/client-registry.ts'
import type { RegisteredClient } from '../store/clients.ts'
import { showError } from '../ui/pages.tsx'
import {
  createClient,
  type RegistryContext,
  readClientForm,
  retireSecret,
  rotateSecret,
  setActivity,
} from './registry.ts'
import { showClient, showClients, showClientsSignIn, showCredentials, showNewClient } from './views.tsx'

/** The signed-in admin of a tenant, and the token that forms of this session carry. */
interface Admin extends SignedIn {
  token: string
}

/**
 * Returns the signed-in admin: a user with the permission `api_clients.manage`, for the clients of the own tenant. Without one it
 * returns the sign-in page, with a refusal for a user without it.
 */
async function readAdmin(c: Context<HttpEnvironment>): Promise<Admin | Response> {
  const signedIn = await readSignedIn(c)
  if (signedIn === undefined) return showClientsSignIn(c, { token: signInToken(c), status: 200 })
  const { account, sessionHash } = signedIn
  const { journal, keys } = c.get('service')
  if (account.permissions.includes(clientAdminPermission)) {
    return { ...signedIn, token: keyedHash(keys.hashKey, `clients form ${sessionHash}`) }
  }
  journal.event('access_forbidden', { personId: account.id, tenant: account.tenantId })
  const problem = 'This account may not manage API clients. Sign in with another account.'
  return showClientsSignIn(c, { token: signInToken(c), status: 403, problem })
}

/** Reads a form with the token of the admin's session (CSRF protection). */
async function readAdminForm(c: Context<HttpEnvironment>): Promise<{ admin: Admin; get: Fields } | Response> {
  const get = await readInteractionForm(c, requestLimits.longFormBytes)
  if (get instanceof Response) return get
  const admin = await readAdmin(c)
  if (admin instanceof Response) return admin
  return sameText(get('token') ?? '', admin.token) ? { admin, get } : showForeignForm(c)
}

/** Returns the token of the sign-in form. It belongs to the browser, because there is no session yet (CSRF protection). */
function signInToken(c: Context<HttpEnvironment>): string {
  return keyedHash(c.get('service').keys.hashKey, `clients sign-in ${ensureBrowser(c)}`)
}

async function readSignInForm(c: Context<HttpEnvironment>): Promise<Fields | Response> {
  const get = await readInteractionForm(c)
  if (get instanceof Response) return get
  const isKnown = readCookie(c, 'browser') !== undefined && sameText(get('token') ?? '', signInToken(c))
  return isKnown ? get : showForeignForm(c)
}

function registryContext(c: Context<HttpEnvironment>, { account }: Admin): RegistryContext {
  const { store, keys, clock } = c.get('service')
  const registry = clientRegistryOf(store.db, account.tenantId)
  return { registry, hashKey: keys.hashKey, nowMs: clock.nowMs(), actor: account.id }
}

function showForeignForm(c: Context<HttpEnvironment>): Promise<Response> {
  return showError(c, 403, 'Your session has changed since this form was opened. Open the page again.')
}

type Confirmation = { kind: 'confirmed' } | { kind: 'refused'; status: 403 | 422 | 429 | 503; problem: string }

/**
 * Asks for the admin's password again before a secret is made, because the browser may be unattended. Refuses a password
 * that was replaced since the account was read.
 */
async function confirmPassword(c: Context<HttpEnvironment>, { account }: Admin, get: Fields): Promise<Confirmation> {
  const attempt = await attemptSignIn(c, { email: account.email, password: get('password') ?? '' })
  if (attempt.kind === 'verified') {
    // A new password ends the sessions of its user, so the session shows whether the password was replaced during the comparison.
    const isSignedIn = (await readSignedIn(c)) !== undefined
    const who = { personId: account.id, tenant: account.tenantId }
    c.get('service').journal.event(isSignedIn ? 'sign_in_succeeded' : 'sign_in_failed', who)
    if (isSignedIn) return { kind: 'confirmed' }
  }
  if (attempt.kind === 'too_long')
    return { kind: 'refused', status: 422, problem: 'The password is too long. Enter a shorter one.' }
  const { status, problem } = refusalOf(c, attempt)
  return { kind: 'refused', status, problem: status === 403 ? 'The password is wrong. Try again.' : problem }
}

/** POST /auth/v1/clients: fields name, kind, redirect_uris (one a line) and the admin's password. */
async function registerClient(c: Context<HttpEnvironment>): Promise<Response> {
  const post = await readAdminForm(c)
  if (post instanceof Response) return post
  const { admin, get } = post
  const shown = { token: admin.token, email: admin.account.email }
  const asked = {
    name: get('name') ?? '',
    kind: get('kind') ?? '',
    redirectUris: (get('redirect_uris') ?? '').split(/\r?\n/).filter((line) => line !== ''),
  }
  const read = readClientForm(asked)
  if (read.kind === 'refused') {
    return showNewClient(c, { ...shown, status: 422, problem: sentence(read.problem), asked })
  }
  const confirmation = await confirmPassword(c, admin, get)
  if (confirmation.kind === 'refused') return showNewClient(c, { ...shown, ...confirmation, asked })
  const created = await createClient(registryContext(c, admin), read.form)
  if (created.kind === 'refused')
    return showNewClient(c, { ...shown, status: 422, problem: sentence(created.problem), asked })
  const credentials = created.value
  const { id: personId, tenantId: tenant } = admin.account
  c.get('service').journal.event('client_created', { clientId: credentials.clientId, personId, tenant })
  return showCredentials(c, { ...credentials, name: read.form.name })
}

function sentence(problem: string): string {
  return `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`
}

/** GET /auth/v1/clients/{id} */
async function showOneClient(c: Context<HttpEnvironment>): Promise<Response> {
  const admin = await readAdmin(c)
  return admin instanceof Response ? admin : showFound(c, admin)
}

/** POST …/activity, field activity: active or inactive. */
async function changeActivity(c: Context<HttpEnvironment>): Promise<Response> {
  const post = await readAdminForm(c)
  if (post instanceof Response) return post
  const clientId = clientIdOf(c)
  const activity = post.get('activity')
  if (activity !== 'active' && activity !== 'inactive') return showError(c, 400, 'Choose active or inactive.')
  const result = await setActivity(registryContext(c, post.admin), { clientId, activity })
  if (result.kind === 'refused') return showFound(c, post.admin, { status: 422, problem: result.problem })
  return changed(c, post.admin, activity === 'active' ? 'client_activated' : 'client_deactivated')
}

/** POST …/secrets: makes a second secret and shows it once, for the admin's password. */
async function createSecret(c: Context<HttpEnvironment>): Promise<Response> {
  const post = await readAdminForm(c)
  if (post instanceof Response) return post
  const client = await findClient(c, post.admin)
  if (client === undefined) return showFound(c, post.admin)
  const confirmation = await confirmPassword(c, post.admin, post.get)
  if (confirmation.kind === 'refused') return showFound(c, post.admin, confirmation)
  const result = await rotateSecret(registryContext(c, post.admin), client.id)
  if (result.kind === 'refused') return showFound(c, post.admin, { status: 422, problem: result.problem })
  record(c, post.admin, 'client_secret_created')
  return showCredentials(c, { ...result.value, name: client.name })
}

/** POST …/secrets/retire, field secret. */
async function retireOneSecret(c: Context<HttpEnvironment>): Promise<Response> {
  const post = await readAdminForm(c)
  if (post instanceof Response) return post
  const which = { clientId: clientIdOf(c), secretId: post.get('secret') ?? '' }
  const result = await retireSecret(registryContext(c, post.admin), which)
  if (result.kind === 'refused') return showFound(c, post.admin, { status: 422, problem: result.problem })
  return changed(c, post.admin, 'client_secret_retired')
}

interface Refusal {
  status?: 403 | 422 | 429 | 503
  problem?: string
}

/** Shows a client. One of another tenant is as unknown as one that does not exist. */
async function showFound(c: Context<HttpEnvironment>, admin: Admin, refusal: Refusal = {}): Promise<Response> {
  const { registry, nowMs } = registryContext(c, admin)
  const client = await findClient(c, admin)
  if (client === undefined) return showError(c, 404, 'Your tenant has no client with this id.')
  const secrets = await registry.activeSecrets(client.id, nowMs)
  const changes = await registry.changes(client.id)
  const shown = { changes, token: admin.token, email: admin.account.email }
  return showClient(c, { client, secrets, ...shown, status: refusal.status ?? 200, problem: refusal.problem })
}

function findClient(c: Context<HttpEnvironment>, admin: Admin): Promise<RegisteredClient | undefined> {
  return registryContext(c, admin).registry.find(clientIdOf(c))
}

function clientIdOf(c: Context<HttpEnvironment>): string {
  return c.req.param('clientId') ?? ''
}

function changed(c: Context<HttpEnvironment>, admin: Admin, event: SecurityEvent): Response {
  record(c, admin, event)
  return c.redirect(c.req.path.split('/').slice(0, 5).join('/'), 303)
}

function record(c: Context<HttpEnvironment>, { account }: Admin, event: SecurityEvent): void {
  const who = { clientId: clientIdOf(c), personId: account.id, tenant: account.tenantId }
  c.get('service').journal.event(event, who)
}

export const clientsPath = '/auth/v1/clients'

/** Serves the pages of the client registry, for an admin of a tenant. */
export function createClientsApp(): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>()
  app.get('/', listClients)
  app.post('/', registerClient)
  app.post('/sign-in', signInToClients)
  app.post('/sign-out', signOutOfClients)
  app.get('/new', async (c) => {
    const admin = await readAdmin(c)
    return admin instanceof Response
      ? admin
      : showNewClient(c, { token: admin.token, email: admin.account.email, status: 200 })
  })
  app.get('/:clientId', showOneClient)
  app.post('/:clientId/activity', changeActivity)
  app.post('/:clientId/secrets', createSecret)
  app.post('/:clientId/secrets/retire', retireOneSecret)
  return app
}

async function listClients(c: Context<HttpEnvironment>): Promise<Response> {
  const admin = await readAdmin(c)
  if (admin instanceof Response) return admin
  const clients = await registryContext(c, admin).registry.list()
  return showClients(c, { admin, clients, tenantName: admin.account.tenantName })
}

async function signInToClients(c: Context<HttpEnvironment>): Promise<Response> {
  const get = await readSignInForm(c)
  if (get instanceof Response) return get
  const attempt = await attemptSignIn(c, { email: get('email') ?? '', password: get('password') ?? '' })
  if (attempt.kind === 'too_long') return showError(c, 422, 'The password is too long. Enter a shorter one.')
  const signedIn = attempt.kind === 'verified' ? await startSignedIn(c, attempt.account) : undefined
  if (signedIn !== undefined) return c.redirect(clientsPath, 303)
  return showClientsSignIn(c, { token: signInToken(c), email: get('email'), ...refusalOf(c, attempt) })
}

async function signOutOfClients(c: Context<HttpEnvironment>): Promise<Response> {
  const form = await readAdminForm(c)
  if (form instanceof Response) return form
  await endSignedIn(c, form.admin)
  return c.redirect(clientsPath, 303)
}
