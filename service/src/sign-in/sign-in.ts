import type { Context } from 'hono'
import { askConsent } from '../authorize/consent.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { readFormPost, storeRequest } from '../http/form.ts'
import { showError } from '../ui/error.tsx'
import { attemptSignIn, refusalOf } from './attempt-sign-in.ts'
import { endSignedIn, readSignedIn, startSignedIn } from './sign-in-session.ts'
import { showSignIn } from './views/sign-in.tsx'

/** POST /auth/v1/sign-in, fields email and password. */
export async function signIn(c: Context<HttpEnvironment>): Promise<Response> {
  const post = await readFormPost(c)
  if (post instanceof Response) return post
  const attempt = await attemptSignIn(c, { email: post.get('email') ?? '', password: post.get('password') ?? '' })
  if (attempt.kind === 'too_long') return showError(c, 422, 'The password is too long.')
  if (attempt.kind !== 'person') return showSignIn(c, { request: post.id, ...refusalOf(c, attempt) })
  const stored = await storeRequest(c, post)
  if (stored instanceof Response) return stored
  return askConsent(c, { ...stored, signedIn: await startSignedIn(c, attempt.person), from: 'sign-in form' })
}

/** POST /auth/v1/sign-out: ends the session and asks again who is there. */
export async function signOut(c: Context<HttpEnvironment>): Promise<Response> {
  const post = await readFormPost(c)
  if (post instanceof Response) return post
  const signedIn = await readSignedIn(c)
  if (signedIn !== undefined) await endSignedIn(c, signedIn)
  return showSignIn(c, { request: post.id, status: 200 })
}
