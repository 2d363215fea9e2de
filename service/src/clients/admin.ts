import type { Context } from 'hono'
import { clientAdminPermission } from '../access-change.ts'
import { keyedHash, sameText } from '../credentials/tokens.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { Fields } from '../http/messages.ts'
import { requestLimits } from '../limits.ts'
import { ensureBrowser, readCookie, readInteractionForm, readSignedIn, type SignedIn } from '../sign-in/browser.ts'
import { attemptSignIn, refusalOf } from '../sign-in/sign-in.ts'
import { clientRegistryOf } from '../store/client-registry.ts'
import { showError } from '../ui/pages.tsx'
import type { RegistryContext } from './registry.ts'
import { showClientsSignIn } from './views.tsx'

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
export async function readAdminForm(c: Context<HttpEnvironment>): Promise<{ admin: Admin; get: Fields } | Response> {
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

export async function readSignInForm(c: Context<HttpEnvironment>): Promise<Fields | Response> {
  const get = await readInteractionForm(c)
  if (get instanceof Response) return get
  const isKnown = readCookie(c, 'browser') !== undefined && sameText(get('token') ?? '', signInToken(c))
  return isKnown ? get : showForeignForm(c)
}

export function registryContext(c: Context<HttpEnvironment>, { account }: Admin): RegistryContext {
  const { store, keys, clock } = c.get('service')
  const registry = clientRegistryOf(store.db, account.tenantId)
  return { registry, hashKey: keys.hashKey, nowMs: clock.nowMs(), actor: account.id }
}

function showForeignForm(c: Context<HttpEnvironment>): Promise<Response> {
  return showError(c, 403, 'Your session has changed since this form was opened. Open the page again.')
}

type Confirmation = { kind: 'confirmed' } | { kind: 'refused'; status: 403 | 422 | 429 | 503; problem: string }

/**
 * Asks for the admin's password again before a secret is made, because the browser may be unattended (S-060). Refuses a password
 * that was replaced since the account was read.
 */
export async function confirmPassword(
  c: Context<HttpEnvironment>,
  { account }: Admin,
  get: Fields,
): Promise<Confirmation> {
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
