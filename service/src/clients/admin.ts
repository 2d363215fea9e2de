import type { Context } from 'hono'
import { keyedHash, sameText } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { requestLimits } from '../limits.ts'
import { clientAdminPermission } from '../permission-names.ts'
import { ensureBrowser, readCookie } from '../sign-in/cookies.ts'
import type { FormField } from '../sign-in/interaction-form.ts'
import { readInteractionForm } from '../sign-in/interaction-form.ts'
import type { SignedIn } from '../sign-in/sign-in-session.ts'
import { readSignedIn } from '../sign-in/sign-in-session.ts'
import { showError } from '../ui/error.tsx'
import type { RegistryContext } from './registry.ts'
import { showClientsSignIn } from './views/clients-sign-in.tsx'

/** The signed-in admin of a tenant, and the token that forms of this session carry. */
export interface Admin extends SignedIn {
  token: string
}

/**
 * Returns the signed-in admin: a user with the permission `api_clients.manage`, for the clients of the own tenant. Without one it
 * returns the sign-in page, with a refusal for a user without it (S-060).
 */
export async function readAdmin(c: Context<HttpEnvironment>): Promise<Admin | Response> {
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

/** Reads a form with the token of the admin's session (CSRF protection, S-060). */
export async function readAdminForm(c: Context<HttpEnvironment>): Promise<{ admin: Admin; get: FormField } | Response> {
  const get = await readInteractionForm(c, requestLimits.longFormBytes)
  if (get instanceof Response) return get
  const admin = await readAdmin(c)
  if (admin instanceof Response) return admin
  return sameText(get('token') ?? '', admin.token) ? { admin, get } : showForeignForm(c)
}

/** Returns the token of the sign-in form. It belongs to the browser, because there is no session yet (CSRF protection, S-024). */
export function signInToken(c: Context<HttpEnvironment>): string {
  return keyedHash(c.get('service').keys.hashKey, `clients sign-in ${ensureBrowser(c)}`)
}

export async function readSignInForm(c: Context<HttpEnvironment>): Promise<FormField | Response> {
  const get = await readInteractionForm(c)
  if (get instanceof Response) return get
  const isKnown = readCookie(c, 'browser') !== undefined && sameText(get('token') ?? '', signInToken(c))
  return isKnown ? get : showForeignForm(c)
}

export function registryContext(c: Context<HttpEnvironment>, { account }: Admin): RegistryContext {
  const { store, keys, clock } = c.get('service')
  const tenant = store.forTenant(account.tenantId)
  return { tenant, hashKey: keys.hashKey, nowMs: clock.nowMs(), actor: account.id }
}

function showForeignForm(c: Context<HttpEnvironment>): Promise<Response> {
  return showError(c, 403, 'Your session has changed since this form was opened. Open the page again.')
}
