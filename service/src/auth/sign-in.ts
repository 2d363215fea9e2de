import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import { addressOf } from '../http/environment.ts'
import { showError } from '../pages/error.tsx'
import { showSignIn } from '../pages/sign-in.tsx'
import type { PersonRecord } from '../store/people.ts'
import { findPersonByEmail, savePasswordHash } from '../store/people.ts'
import { askConsent } from './consent.ts'
import type { FormPost } from './form-post.ts'
import { readFormPost } from './form-post.ts'
import { endSignedIn, readSignedIn, startSignedIn } from './sign-in-session.ts'

const longestPassword = 1_024
const secondMs = 1_000

/** POST /auth/v1/sign-in, fields email and password. */
export async function signIn(c: Context<HttpEnvironment>): Promise<Response> {
  const post = await readFormPost(c)
  if (post instanceof Response) return post
  const email = (post.get('email') ?? '').trim().toLowerCase()
  const password = post.get('password') ?? ''
  if (password.length > longestPassword) return showError(c, 422, 'The password is too long.')
  const { throttles } = c.get('service')
  const address = throttles.signInAddress.admit(addressOf(c.env))
  if (address.kind === 'wait') return tooMany(c, post, address.retryAfterMs)
  const account = throttles.account.admit(email)
  if (account.kind === 'wait') {
    address.settle('success')
    return tooMany(c, post, account.retryAfterMs)
  }
  const person = await checkPassword(c, email, password).catch((error: unknown) => {
    account.settle('failure')
    address.settle('failure')
    throw error
  })
  account.settle(person === undefined ? 'failure' : 'success')
  address.settle(person === undefined ? 'failure' : 'success')
  if (person === undefined) return refuse(c, post)
  c.get('service').journal.event('sign_in_succeeded', { personId: person.id, tenant: person.tenantId })
  return askConsent(c, { ...post, signedIn: await startSignedIn(c, person) })
}

/** POST /auth/v1/sign-out: ends the session and asks again who is there. */
export async function signOut(c: Context<HttpEnvironment>): Promise<Response> {
  const post = await readFormPost(c)
  if (post instanceof Response) return post
  const signedIn = await readSignedIn(c)
  if (signedIn !== undefined) await endSignedIn(c, signedIn)
  return showSignIn(c, { request: post.id, status: 200 })
}

async function checkPassword(
  c: Context<HttpEnvironment>,
  email: string,
  password: string,
): Promise<PersonRecord | undefined> {
  const { store, passwords } = c.get('service')
  const person = await findPersonByEmail(store.db, email)
  const result = await passwords.verify(password, person?.passwordHash)
  if (person === undefined || result === 'mismatch' || !person.active) return undefined
  if (!passwords.isCurrent(person.passwordHash)) {
    await savePasswordHash(store.db, person.id, await passwords.hash(password))
  }
  return person
}

/** The same answer for an unknown person and a wrong password (S-020). */
function refuse(c: Context<HttpEnvironment>, post: FormPost): Promise<Response> {
  c.get('service').journal.event('sign_in_failed')
  return showSignIn(c, { request: post.id, status: 403, problem: 'The email address or the password is not right.' })
}

function tooMany(c: Context<HttpEnvironment>, post: FormPost, retryAfterMs: number): Promise<Response> {
  const seconds = Math.ceil(retryAfterMs / secondMs)
  c.header('Retry-After', String(seconds))
  return showSignIn(c, { request: post.id, status: 429, problem: `Too many attempts. Wait ${seconds} seconds.` })
}
