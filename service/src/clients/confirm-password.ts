import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { attemptSignIn, refusalOf } from '../sign-in/attempt-sign-in.ts'
import type { FormField } from '../sign-in/interaction-form.ts'
import { readSignedIn } from '../sign-in/sign-in-session.ts'
import type { Admin } from './admin.ts'

export type Confirmation = { kind: 'confirmed' } | { kind: 'refused'; status: 403 | 422 | 429 | 503; problem: string }

/**
 * Asks for the admin's password again before a secret is made, because the browser may be unattended (S-060). Refuses a password
 * that was replaced since the account was read.
 */
export async function confirmPassword(
  c: Context<HttpEnvironment>,
  { account }: Admin,
  get: FormField,
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
