import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { SecurityEvent } from '../state/journal.ts'
import type { RegisteredClient } from '../store/tables/clients.ts'
import { showError } from '../ui/error.tsx'
import type { Admin } from './admin.ts'
import { readAdmin, readAdminForm, registryContext } from './admin.ts'
import { confirmPassword } from './confirm-password.ts'
import { retireSecret, rotateSecret, setActivity } from './registry.ts'
import { showClient } from './views/client.tsx'
import { showCredentials } from './views/client-credentials.tsx'

/** GET /auth/v1/clients/{id} */
export async function showOneClient(c: Context<HttpEnvironment>): Promise<Response> {
  const admin = await readAdmin(c)
  return admin instanceof Response ? admin : showFound(c, admin)
}

/** POST …/activity, field activity: active or inactive. */
export async function changeActivity(c: Context<HttpEnvironment>): Promise<Response> {
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
export async function createSecret(c: Context<HttpEnvironment>): Promise<Response> {
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
export async function retireOneSecret(c: Context<HttpEnvironment>): Promise<Response> {
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

/** Shows a client. One of another tenant is as unknown as one that does not exist (S-065). */
async function showFound(c: Context<HttpEnvironment>, admin: Admin, refusal: Refusal = {}): Promise<Response> {
  const { store, clock } = c.get('service')
  const client = await findClient(c, admin)
  if (client === undefined) return showError(c, 404, 'Your tenant has no client with this id.')
  const { clients, registryChanges } = store.forTenant(admin.account.tenantId)
  const secrets = await clients.activeSecrets(client.id, clock.nowMs())
  const changes = await registryChanges.list(client.id)
  const shown = { changes, token: admin.token, email: admin.account.email }
  return showClient(c, { client, secrets, ...shown, status: refusal.status ?? 200, problem: refusal.problem })
}

function findClient(c: Context<HttpEnvironment>, { account }: Admin): Promise<RegisteredClient | undefined> {
  return c.get('service').store.forTenant(account.tenantId).clients.find(clientIdOf(c))
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
