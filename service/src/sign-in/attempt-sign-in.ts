import type { Context } from 'hono'
import type { AttemptResult } from '../credentials/throttle.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { credentialLimits } from '../limits.ts'
import type { Account } from '../store/tables/accounts.ts'
import { findAccountByEmail, savePasswordHash } from '../store/tables/accounts.ts'
import { admitSignIn } from './admit-sign-in.ts'

/**
 * The result of comparing an email address and a password. The journal has a refusal already. The caller records `verified`, once
 * it has checked that the password was not replaced during the comparison.
 */
export type Attempt = { kind: 'verified'; account: Account } | Refused | { kind: 'too_long' }

type Refused = { kind: 'refused' } | { kind: 'wait' | 'busy'; retryAfterMs: number }

const secondMs = 1_000

/** Compares an email address and a password, unless earlier failures require a wait (S-021). */
export async function attemptSignIn(
  c: Context<HttpEnvironment>,
  presented: { email: string; password: string },
): Promise<Attempt> {
  const email = presented.email.trim().toLowerCase()
  if (presented.password.length > credentialLimits.passwordCharacters) return { kind: 'too_long' }
  const { journal } = c.get('service')
  const admission = admitSignIn(c, email)
  if (admission.kind === 'wait') return admission
  let result: AttemptResult = 'undecided'
  try {
    const { account, proof } = await checkPassword(c, { email, password: presented.password })
    if (proof === 'busy') return { kind: 'busy', retryAfterMs: credentialLimits.hashRetryMs }
    const who = account === undefined ? {} : { personId: account.id, tenant: account.tenantId }
    result = proof === 'right' ? 'success' : 'failure'
    if (account === undefined || proof === 'wrong') {
      journal.event('sign_in_failed', who)
      return { kind: 'refused' }
    }
    return { kind: 'verified', account }
  } finally {
    admission.settle(result)
  }
}

/**
 * Returns status and text of a refusal, with `Retry-After`, which is `hashRetryMs`, 5 s for `busy`: the same for an unknown
 * account, a wrong password (S-020), and one that was replaced after it was verified.
 */
export function refusalOf(
  c: Context<HttpEnvironment>,
  refused: Exclude<Attempt, { kind: 'too_long' }>,
): { status: 403 | 429 | 503; problem: string } {
  if (refused.kind === 'refused' || refused.kind === 'verified') {
    return { status: 403, problem: 'The email address or the password is wrong. Try again.' }
  }
  const seconds = Math.ceil(refused.retryAfterMs / secondMs)
  c.header('Retry-After', String(seconds))
  const advice = `Wait ${waitText(seconds)}, then try again.`
  if (refused.kind === 'busy') return { status: 503, problem: `Too many users are signing in at the moment. ${advice}` }
  return { status: 429, problem: `Too many failed attempts. ${advice}` }
}

function waitText(seconds: number): string {
  if (seconds < 2 * 60) return `${seconds} seconds`
  if (seconds < 2 * 60 * 60) return `${Math.ceil(seconds / 60)} minutes`
  return `${Math.ceil(seconds / 60 / 60)} hours`
}

async function checkPassword(
  c: Context<HttpEnvironment>,
  presented: { email: string; password: string },
): Promise<{ account: Account | undefined; proof: 'right' | 'wrong' | 'busy' }> {
  const { email, password } = presented
  const { store, passwords } = c.get('service')
  const account = await findAccountByEmail(store.db, email)
  const result = await passwords.verify(password, account?.passwordHash)
  if (result === 'busy') return { account, proof: 'busy' }
  if (account === undefined || result === 'mismatch' || !account.active) return { account, proof: 'wrong' }
  if (!passwords.isCurrent(account.passwordHash)) {
    const renewed = { passwordHash: await passwords.hash(password), replaced: account.passwordHash }
    // If the hash was replaced during the comparison, the new one decides.
    if ((await savePasswordHash(store.db, account.id, renewed)) === 'outdated') return checkPassword(c, presented)
    return { account: { ...account, passwordHash: renewed.passwordHash }, proof: 'right' }
  }
  return { account, proof: 'right' }
}
