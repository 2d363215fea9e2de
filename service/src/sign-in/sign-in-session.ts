import type { Context } from 'hono'
import { hashToken, randomSecret } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { Account } from '../store/tables/accounts.ts'
import { createSignInSession, deleteSignInSession, useSignInSession } from '../store/tables/sign-in-sessions.ts'
import { readCookie, removeCookie, writeCookie } from './cookies.ts'
import { rememberDevice } from './device.ts'

export interface SignedIn {
  account: Account
  sessionHash: string
}

/**
 * Returns the user who is signed in with this browser, unless the account is disabled or the session expired: after `signInIdleMs`,
 * 30 minutes without a use, and `signInMs`, 12 hours in all (`useSignInSession`).
 */
export async function readSignedIn(c: Context<HttpEnvironment>): Promise<SignedIn | undefined> {
  const { store, clock } = c.get('service')
  const cookie = readCookie(c, 'session')
  if (cookie === undefined) return undefined
  const sessionHash = hashToken(cookie)
  const account = await useSignInSession(store.db, sessionHash, clock.nowMs())
  if (!account?.active) return undefined
  c.set('caller', { personId: account.id })
  return { account, sessionHash }
}

/**
 * Starts a session with a new id, so that an id from before the sign-in is worthless (session fixation, S-022). Starts none if the
 * password was replaced since the account was read.
 */
export async function startSignedIn(c: Context<HttpEnvironment>, account: Account): Promise<SignedIn | undefined> {
  const { store, clock, journal } = c.get('service')
  const previous = readCookie(c, 'session')
  if (previous !== undefined) await deleteSignInSession(store.db, hashToken(previous))
  const id = randomSecret()
  const { id: personId, passwordHash, tenantId: tenant } = account
  const session = { idHash: hashToken(id), personId, passwordHash, nowMs: clock.nowMs() }
  const result = await createSignInSession(store.db, session)
  journal.event(result === 'outdated' ? 'sign_in_failed' : 'sign_in_succeeded', { personId, tenant })
  if (result === 'outdated') return undefined
  writeCookie(c, 'session', id)
  rememberDevice(c, account.email.toLowerCase())
  c.set('caller', { personId: account.id })
  return { account, sessionHash: hashToken(id) }
}

export async function endSignedIn(c: Context<HttpEnvironment>, { account, sessionHash }: SignedIn): Promise<void> {
  const { store, journal } = c.get('service')
  await deleteSignInSession(store.db, sessionHash)
  journal.event('signed_out', { personId: account.id, tenant: account.tenantId })
  removeCookie(c, 'session')
}
