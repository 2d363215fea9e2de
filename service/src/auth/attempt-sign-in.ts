import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import { addressOf } from '../http/environment.ts'
import type { PersonRecord } from '../store/people.ts'
import { findPersonByEmail, savePasswordHash } from '../store/people.ts'
import { hashRetryMs } from './hash-line.ts'

/** What came of an email address and a password; written to the journal already. */
export type Attempt = { kind: 'person'; person: PersonRecord } | Refused | { kind: 'too_long' }

type Refused = { kind: 'refused' } | { kind: 'wait' | 'busy'; retryAfterMs: number }

const longestPassword = 1_024
const secondMs = 1_000

/** One attempt, slowed down per address and per account (S-021). */
export async function attemptSignIn(
  c: Context<HttpEnvironment>,
  presented: { email: string; password: string },
): Promise<Attempt> {
  const email = presented.email.trim().toLowerCase()
  if (presented.password.length > longestPassword) return { kind: 'too_long' }
  const { throttles, journal } = c.get('service')
  const address = throttles.signInAddress.admit(addressOf(c.env))
  if (address.kind === 'wait') return address
  const account = throttles.account.admit(email)
  if (account.kind === 'wait') {
    address.settle('undecided')
    return account
  }
  let result: 'success' | 'failure' | 'undecided' = 'undecided'
  try {
    const { person, proof } = await checkPassword(c, email, presented.password)
    if (proof === 'busy') return { kind: 'busy', retryAfterMs: hashRetryMs }
    const who = person === undefined ? {} : { personId: person.id, tenant: person.tenantId }
    result = proof === 'right' ? 'success' : 'failure'
    if (person === undefined || proof === 'wrong') {
      journal.event('sign_in_failed', who)
      return { kind: 'refused' }
    }
    journal.event('sign_in_succeeded', who)
    return { kind: 'person', person }
  } finally {
    account.settle(result)
    address.settle(result)
  }
}

/** Status and words of a refusal: the same for an unknown person and a wrong password (S-020). */
export function refusalOf(c: Context<HttpEnvironment>, refused: Refused): { status: 403 | 429 | 503; problem: string } {
  if (refused.kind === 'refused') {
    return { status: 403, problem: 'The email address or the password is not right.' }
  }
  const seconds = Math.ceil(refused.retryAfterMs / secondMs)
  c.header('Retry-After', String(seconds))
  if (refused.kind === 'busy') {
    return { status: 503, problem: `Too many people are signing in. Wait ${seconds} seconds.` }
  }
  return { status: 429, problem: `Too many attempts. Wait ${seconds} seconds.` }
}

async function checkPassword(
  c: Context<HttpEnvironment>,
  email: string,
  password: string,
): Promise<{ person: PersonRecord | undefined; proof: 'right' | 'wrong' | 'busy' }> {
  const { store, passwords } = c.get('service')
  const person = await findPersonByEmail(store.db, email)
  const result = await passwords.verify(password, person?.passwordHash, 'stranger')
  if (result === 'busy') return { person, proof: 'busy' }
  if (person === undefined || result === 'mismatch' || !person.active) return { person, proof: 'wrong' }
  if (!passwords.isCurrent(person.passwordHash)) {
    await savePasswordHash(store.db, person.id, await passwords.hash(password))
  }
  return { person, proof: 'right' }
}
