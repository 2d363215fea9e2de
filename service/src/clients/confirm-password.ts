import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import { attemptSignIn, refusalOf } from '../sign-in/attempt-sign-in.ts'
import type { FormField } from '../sign-in/interaction-form.ts'
import type { Admin } from './admin.ts'

export type Confirmation = { kind: 'confirmed' } | { kind: 'refused'; status: 403 | 422 | 429 | 503; problem: string }

/** Asks for the admin's password again before a secret is made, because the browser may be unattended (S-060). */
export async function confirmPassword(
  c: Context<HttpEnvironment>,
  { account }: Admin,
  get: FormField,
): Promise<Confirmation> {
  const attempt = await attemptSignIn(c, { email: account.email, password: get('password') ?? '' })
  if (attempt.kind === 'verified') {
    c.get('service').journal.event('sign_in_succeeded', { personId: account.id, tenant: account.tenantId })
    return { kind: 'confirmed' }
  }
  if (attempt.kind === 'too_long')
    return { kind: 'refused', status: 422, problem: 'The password is too long. Enter a shorter one.' }
  const { status, problem } = refusalOf(c, attempt)
  return { kind: 'refused', status, problem: status === 403 ? 'The password is wrong. Try again.' : problem }
}
