import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import { attemptSignIn, refusalOf } from '../sign-in/attempt-sign-in.ts'
import { endSignedIn, readSignedIn, startSignedIn } from '../sign-in/sign-in-session.ts'
import { showSignIn } from '../sign-in/views/sign-in.tsx'
import { showError } from '../ui/error.tsx'
import { askConsent } from './consent.ts'
import { readRequestForm } from './request-form.ts'

/** POST /auth/v1/sign-in, fields email and password. */
export async function signIn(c: Context<HttpEnvironment>): Promise<Response> {
  const form = await readRequestForm(c)
  if (form instanceof Response) return form
  const attempt = await attemptSignIn(c, { email: form.get('email') ?? '', password: form.get('password') ?? '' })
  if (attempt.kind === 'too_long') return showError(c, 422, 'The password is too long. Enter a shorter one.')
  if (attempt.kind !== 'verified') return showSignIn(c, { request: form.requestField, ...refusalOf(c, attempt) })
  return askConsent(c, { ...form, signedIn: await startSignedIn(c, attempt.account), from: 'sign-in form' })
}

/** POST /auth/v1/sign-out: ends the sign-in session and shows the sign-in page again. */
export async function signOut(c: Context<HttpEnvironment>): Promise<Response> {
  const form = await readRequestForm(c)
  if (form instanceof Response) return form
  const signedIn = await readSignedIn(c)
  if (signedIn !== undefined) await endSignedIn(c, signedIn)
  return showSignIn(c, { request: form.requestField, status: 200 })
}
