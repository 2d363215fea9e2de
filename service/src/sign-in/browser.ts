import type { Context } from 'hono'
import { setCookie } from 'hono/cookie'
import type { ServiceContext } from '../context.ts'
import { decrypt, encrypt, keyedHash, randomSecret, sameText } from '../credentials/tokens.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { type Fields, hasMediaType, parseForm, readAtMost } from '../http/messages.ts'
import { ownOrigins } from '../http/middleware.ts'
import { credentialLimits, lifetimes, requestLimits } from '../limits.ts'
import { findServiceKey, hashToken } from '../store/database.ts'
import {
  type Account,
  type AuthorizationRequestRow,
  createSignInSession,
  deleteSignInSession,
  type SessionUser,
  useSignInSession,
} from '../store/logins.ts'
import { showError } from '../ui/pages.tsx'

/**
 * `browser` ties an authorization request to the browser that began it. `session` identifies the signed-in user. `device` lists the
 * accounts that this browser signed in to before. The others last until the browser ends. All
 * are `SameSite=Lax`, because the authorize request comes from another site. On plain http a browser rejects `Secure` cookies and
 * refuses the `__Host-` prefix, so there the name has the port, because cookies are not scoped by port.
 */
type CookieKind = 'browser' | 'session' | 'device'

const secretPattern = /^[A-Za-z0-9_-]{43}$/
const devicePattern = new RegExp(String.raw`^[\w-]{43}(?:\.[\w-]{43}){1,${credentialLimits.deviceAccounts}}$`)
const shapes: Record<CookieKind, { value: RegExp; maxAge?: number }> = {
  browser: { value: secretPattern },
  session: { value: secretPattern },
  device: { value: devicePattern, maxAge: lifetimes.deviceCookieMs / 1_000 },
}

/** Reads a cookie. Of two with one name none counts, because a service on another port of this host can plant one (session fixation). */
export function readCookie(c: Context<HttpEnvironment>, kind: CookieKind): string | undefined {
  const start = `${cookieName(c, kind)}=`
  const named = (c.req.header('cookie') ?? '').split(';').filter((pair) => pair.trimStart().startsWith(start))
  if (named.length !== 1) return undefined
  const value = named[0]?.trim().slice(start.length) ?? ''
  return shapes[kind].value.test(value) ? value : undefined
}

function writeCookie(c: Context<HttpEnvironment>, kind: CookieKind, value: string): void {
  const { maxAge } = shapes[kind]
  const life = maxAge === undefined ? {} : { maxAge }
  setCookie(c, cookieName(c, kind), value, { path: '/', httpOnly: true, sameSite: 'Lax', secure: isHttps(c), ...life })
}

function removeCookie(c: Context<HttpEnvironment>, kind: CookieKind): void {
  setCookie(c, cookieName(c, kind), '', { path: '/', httpOnly: true, sameSite: 'Lax', secure: isHttps(c), maxAge: 0 })
}

/** Returns the value of the `browser` cookie, which is made at the first visit. */
export function ensureBrowser(c: Context<HttpEnvironment>): string {
  const known = readCookie(c, 'browser')
  if (known !== undefined) return known
  const fresh = randomSecret()
  writeCookie(c, 'browser', fresh)
  return fresh
}

function isHttps(c: Context<HttpEnvironment>): boolean {
  return c.get('service').config.authUrl.startsWith('https:')
}

function cookieName(c: Context<HttpEnvironment>, kind: CookieKind): string {
  if (isHttps(c)) return `__Host-agent_service_${kind}`
  return `agent_service_${kind}_${/:(\d+)$/.exec(c.get('service').config.authUrl)?.[1] ?? '80'}`
}

/**
 * Returns the id of this browser if its device cookie proves that it signed in to this account before. The cookie has the
 * id, and for each account a keyed hash of both. It gives no access: attempts of a known browser only count by
 * themselves, so that other browsers cannot lock its user out.
 */
export function readDevice(c: Context<HttpEnvironment>, email: string): string | undefined {
  const [id = '', ...proofs] = partsOf(c)
  const expected = proofOf(c, id, email)
  return proofs.some((proof) => sameText(proof, expected)) ? id : undefined
}

/** Adds an account that this browser just signed in to (the oldest leaves). */
function rememberDevice(c: Context<HttpEnvironment>, email: string): void {
  const [id = randomSecret(), ...proofs] = partsOf(c)
  const proof = proofOf(c, id, email)
  const others = proofs.filter((other) => other !== proof).slice(0, credentialLimits.deviceAccounts - 1)
  writeCookie(c, 'device', [id, proof, ...others].join('.'))
}

function partsOf(c: Context<HttpEnvironment>): string[] {
  return readCookie(c, 'device')?.split('.') ?? []
}

function proofOf(c: Context<HttpEnvironment>, id: string, email: string): string {
  return keyedHash(c.get('service').keys.hashKey, `device ${id} ${email}`)
}

export interface SignedIn extends SessionUser {
  sessionHash: string
}

/**
 * Returns the user who is signed in with this browser, unless the account is disabled or the session expired.
 */
export async function readSignedIn(c: Context<HttpEnvironment>): Promise<SignedIn | undefined> {
  const { store, clock } = c.get('service')
  const cookie = readCookie(c, 'session')
  if (cookie === undefined) return undefined
  const sessionHash = hashToken(cookie)
  const used = await useSignInSession(store.db, {
    idHash: sessionHash,
    clientId: c.get('clientId'),
    nowMs: clock.nowMs(),
  })
  if (!used?.account.active) return undefined
  c.set('caller', { personId: used.account.id })
  return { ...used, sessionHash }
}

/**
 * Starts a session with a new id, so that an id from before the sign-in is worthless (session fixation). Starts none if the
 * password was replaced since the account was read.
 */
export async function startSignedIn(c: Context<HttpEnvironment>, account: Account): Promise<SignedIn | undefined> {
  const { store, clock, journal } = c.get('service')
  const previous = readCookie(c, 'session')
  if (previous !== undefined) await deleteSignInSession(store.db, { idHash: hashToken(previous) })
  const id = randomSecret()
  const { id: personId, passwordHash, tenantId: tenant } = account
  const session = { idHash: hashToken(id), personId, passwordHash, nowMs: clock.nowMs() }
  const result = await createSignInSession(store.db, session)
  journal.event(result === 'outdated' ? 'sign_in_failed' : 'sign_in_succeeded', { personId, tenant })
  if (result === 'outdated') return undefined
  writeCookie(c, 'session', id)
  rememberDevice(c, account.email.toLowerCase())
  c.set('caller', { personId: account.id })
  return { account, client: undefined, sessionHash: hashToken(id) }
}

export async function endSignedIn(c: Context<HttpEnvironment>, { account, sessionHash }: SignedIn): Promise<void> {
  const { store, journal } = c.get('service')
  await deleteSignInSession(store.db, { idHash: sessionHash })
  journal.event('signed_out', { personId: account.id, tenant: account.tenantId })
  removeCookie(c, 'session')
}

const notOwn = 'This form was not sent from a page of this service.'
const notForm = 'This URL accepts only form submissions (application/x-www-form-urlencoded).'
const tooLarge = 'The form is too large. Go back and shorten what you entered.'
const unreadable = 'The form data could not be read. Go back, reload the page and submit it again.'

/**
 * Reads a form that a page of this service posted. Anything else gets an error page: 403, 400, 413 or 415
 * (CSRF protection).
 */
export async function readInteractionForm(
  c: Context<HttpEnvironment>,
  maxBytes: number = requestLimits.formBytes,
): Promise<Fields | Response> {
  if (!isSameOrigin(c)) return showError(c, 403, notOwn)
  if (!hasMediaType(c.req.raw.headers, 'application/x-www-form-urlencoded')) return showError(c, 415, notForm)
  const body = await readAtMost(c.req.raw, maxBytes)
  if (body.kind === 'too_large') return showError(c, 413, tooLarge)
  const form = body.kind === 'text' ? parseForm(body.text) : undefined
  return form?.kind === 'fields' ? form.get : showError(c, 400, unreadable)
}

/**
 * Returns whether the browser reports that a page of this origin posted the form. Pages of this service send no referrer,
 * so their forms have `Origin: null`. A sandboxed frame has that too, but another Sec-Fetch-Site. The callers add a
 * token of their page, or of the request.
 */
function isSameOrigin(c: Context<HttpEnvironment>): boolean {
  const site = c.req.header('sec-fetch-site') ?? 'same-origin'
  const origin = c.req.header('origin') ?? 'null'
  if (site !== 'same-origin' && site !== 'none') return false
  return origin === 'null' || ownOrigins(c.get('service').config.authUrl).has(origin)
}

/**
 * An authorization request before the user has signed in. The sign-in page carries it, encrypted, so that requests of
 * strangers use no storage of the service. It is valid for a time, in the browser that began it, and there is no
 * limit to their number.
 */
export interface CarriedRequest extends Omit<AuthorizationRequestRow, 'idHash' | 'sessionHash' | 'carried'> {
  /** Its id once it is stored. */
  id: string
}

export async function encryptRequest(service: ServiceContext, request: CarriedRequest): Promise<string> {
  return encrypt(await keyFor(service), JSON.stringify(request))
}

/** Returns undefined for text that this service did not encrypt since the last reset. */
export async function decryptRequest(service: ServiceContext, text: string): Promise<CarriedRequest | undefined> {
  const key = await keyFor(service)
  try {
    return JSON.parse(decrypt(key, text)) as CarriedRequest
  } catch {
    return undefined
  }
}

/** Returns the row that is stored from the sign-in on. */
export function rowOf(request: CarriedRequest): AuthorizationRequestRow {
  const { id, ...row } = request
  return { ...row, idHash: hashToken(id), sessionHash: null, carried: 1 }
}

/** Returns a key that a reset replaces, because a reset deletes the rows that show which requests were decided. */
async function keyFor({ keys, store }: ServiceContext): Promise<string> {
  const reset = (await findServiceKey(store.db, 'reset')) ?? ''
  return keyedHash(keys.hashKey, `authorization request ${reset}`)
}
