import type { Context } from 'hono'
import { askConsent, readRequestForm } from '../authorize/consent.tsx'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { clientAddressOf, nearestAddressOf } from '../http/messages.ts'
import { credentialLimits } from '../limits.ts'
import type { Admitted, AttemptResult, Throttle, TooSoon } from '../state.ts'
import { type Account, findAccountByEmail, savePasswordHash } from '../store/logins.ts'
import { askSignIn, chosenAccount, showError } from '../ui/pages.tsx'
import { endSignedIn, readDevice, readSignedIn, startSignedIn } from './browser.ts'

/**
 * Admits a sign-in attempt, or returns how long to wait. A browser that signed in to the account before
 * counts by itself. Any other browser counts by address if addresses are known, by account and address, and by account.
 */
function admitSignIn(c: Context<HttpEnvironment>, email: string): Admitted | TooSoon {
  const { throttles } = c.get('service')
  const device = readDevice(c, email)
  if (device !== undefined) return admitBy([[throttles.device, `${device} ${email}`]])
  const address = clientAddressOf(c)
  const all: [Throttle, string][] = address === undefined ? [] : [[throttles.signInAddress, address]]
  const counted: [Throttle, string][] = [
    [throttles.accountAddress, `${nearestAddressOf(c)} ${email}`],
    [throttles.account, email],
  ]
  return admitBy([...all, ...counted])
}

function admitBy(gates: [Throttle, string][]): Admitted | TooSoon {
  const passed: Admitted[] = []
  for (const [throttle, key] of gates) {
    const admission = throttle.admit(key)
    if (admission.kind === 'wait') {
      for (const earlier of passed) earlier.settle('undecided')
      return admission
    }
    passed.push(admission)
  }
  return {
    kind: 'go',
    settle(result) {
      for (const admission of passed) admission.settle(result)
    },
  }
}

/**
 * The result of comparing an email address and a password. The journal has a refusal already. The caller records `verified`, once
 * it has checked that the password was not replaced during the comparison.
 */
type Attempt = { kind: 'verified'; account: Account } | Refused | { kind: 'too_long' }

type Refused = { kind: 'refused' } | { kind: 'wait' | 'busy'; retryAfterMs: number }

const secondMs = 1_000

/** Compares an email address and a password, unless earlier failures require a wait. */
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
 * Returns status and text of a refusal, with `Retry-After`: the same for an unknown
 * account, a wrong password, and one that was replaced after it was verified.
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

/** POST /auth/v1/sign-in, fields email and password. */
export async function signIn(c: Context<HttpEnvironment>): Promise<Response> {
  const form = await readRequestForm(c)
  if (form instanceof Response) return form
  const attempt = await attemptSignIn(c, { email: form.get('email') ?? '', password: form.get('password') ?? '' })
  if (attempt.kind === 'too_long') return showError(c, 422, 'The password is too long. Enter a shorter one.')
  const signedIn = attempt.kind === 'verified' ? await startSignedIn(c, attempt.account) : undefined
  if (signedIn !== undefined) return askConsent(c, { ...form, signedIn, from: 'sign-in form' })
  return askSignIn(c, { request: form.requestField, email: form.get('email'), ...refusalOf(c, attempt) })
}

/** POST /auth/v1/sign-in-as, field email: signs a user in without a password, with dev controls only. */
export async function signInAs(c: Context<HttpEnvironment>): Promise<Response> {
  const form = await readRequestForm(c)
  if (form instanceof Response) return form
  const account = await chosenAccount(c, form.get('email') ?? '')
  const signedIn = account && (await startSignedIn(c, account))
  if (account === undefined || signedIn === undefined)
    return showError(c, 403, 'This user cannot sign in without a password here.')
  return askConsent(c, { ...form, signedIn, from: 'sign-in form' })
}

/** POST /auth/v1/sign-out: ends the sign-in session and shows the sign-in page again. */
export async function signOut(c: Context<HttpEnvironment>): Promise<Response> {
  const form = await readRequestForm(c)
  if (form instanceof Response) return form
  const signedIn = await readSignedIn(c)
  if (signedIn !== undefined) await endSignedIn(c, signedIn)
  return askSignIn(c, { request: form.requestField, status: 200 })
}
