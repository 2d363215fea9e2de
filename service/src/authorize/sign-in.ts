import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { askSignIn, chosenAccount } from '../sign-in/ask-sign-in.ts'
import { attemptSignIn, refusalOf } from '../sign-in/attempt-sign-in.ts'
import { endSignedIn, readSignedIn, startSignedIn } from '../sign-in/sign-in-session.ts'
import { showError } from '../ui/error.tsx'
import { askConsent } from './consent.ts'
import { readRequestForm } from './request-form.ts'

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
