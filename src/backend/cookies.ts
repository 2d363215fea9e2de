import { encode as base64url } from 'jose/base64url'
import type { AuthConfig } from '../config.ts'
import { invalid } from '../internal/values.ts'

/**
 * One cookie of the backend. The same descriptor sets and removes it: a browser finds the cookie by name, host and path, and ignores
 * a line with `__Host-` that lacks its flags. RFC 6265 section 5.3.
 */
export interface CookieKind {
  readonly name: string
  readonly sameSite: 'Strict' | 'Lax'
  /** `loopback`: http on localhost, where a cookie has neither `Secure` nor `__Host-`. Every other redirect URI is https. */
  readonly security: 'secure' | 'loopback'
  readonly maxAgeS: number
}

/**
 * The cookies of pending logins. A name is `prefix`, the state and `suffix`. The suffix is empty or begins with `+`, which no state
 * contains, so that it is clear where the state ends.
 */
export interface PendingLoginCookieKind extends Omit<CookieKind, 'name'> {
  readonly prefix: string
  readonly suffix: string
}

interface CookieOptions {
  readonly redirectUri: string
  readonly basePath: string
  readonly sameSite: 'strict' | 'lax'
  readonly sessionLifeMs: number
  readonly loginLifeMs: number
}

/**
 * Returns the cookies of a backend. All are `HttpOnly` with `Path=/`, and on https `Secure` and `__Host-`. None contains a token.
 * Names differ for each port and base path of a host, because cookies are not scoped by port.
 */
export function cookieKinds({ redirectUri, basePath, sameSite, sessionLifeMs, loginLifeMs }: CookieOptions): {
  readonly sessionCookie: CookieKind
  readonly pendingLoginCookie: PendingLoginCookieKind
} {
  const { protocol, port } = new URL(redirectUri)
  // A redirect URI may have http on loopback only.
  const security = protocol === 'https:' ? 'secure' : 'loopback'
  const base = `${security === 'secure' ? '__Host-' : ''}agent-auth${port && `-${port}`}`
  const suffix = basePath === '/auth' ? '' : basePath.replaceAll('/', '+')
  const maxAgeS = Math.floor(sessionLifeMs / 1_000)
  return {
    sessionCookie: { name: base + suffix, security, sameSite: sameSite === 'lax' ? 'Lax' : 'Strict', maxAgeS },
    // Browsers do not send a Strict cookie when the authorization server redirects to the callback.
    pendingLoginCookie: { prefix: `${base}-login-`, suffix, security, sameSite: 'Lax', maxAgeS: loginLifeMs / 1_000 },
  }
}

/** Returns a `Set-Cookie` line. Without a value it removes the cookie. */
export function cookieLine({ name, sameSite, security, maxAgeS }: CookieKind, value?: string): string {
  const secure = security === 'secure' ? '; Secure' : ''
  const age = value === undefined ? 0 : maxAgeS
  return `${name}=${value ?? ''}; Path=/; HttpOnly; SameSite=${sameSite}${secure}; Max-Age=${age}`
}

/** The headers of a request, of which only `cookie` is read. */
export type CookieHeader = Pick<Headers, 'get'>

/** Returns the values of a request's cookies by name, the first of each name. RFC 6265 section 4.2.1. */
export function readCookies({ headers }: { readonly headers: CookieHeader }): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const at = pair.indexOf('=')
    const name = trimmed(pair.slice(0, at))
    if (at > 0 && !cookies.has(name)) cookies.set(name, trimmed(pair.slice(at + 1)))
  }
  return cookies
}

/**
 * Removes spaces and tabs only. A sibling domain can set a cookie whose name begins with another kind of white space, such as U+00A0, and
 * continues with `__Host-`, and `trim` would make the name of this app's cookie of it. A lazy pattern would take quadratic time.
 */
function trimmed(text: string): string {
  return /^[ \t]*((?:.*[^ \t])?)/s.exec(text)?.[1] ?? ''
}

/**
 * A session id: when its login began, in seconds to base 36, and 256 random bits, which protect it against guesses. So the cookie is
 * neither signed nor encrypted.
 */
const sessionId = /^([\da-z]{5,8})\.[\w-]{43}$/

/** What the session cookie depends on. */
export interface SessionCookieContext {
  readonly config: AuthConfig
  readonly sessionCookie: CookieKind
  readonly sessionLifeMs: number
}

/** The session that a request's cookie names. */
export interface NamedSession {
  /** Names the record. No cookie can be made from it. Undefined if the cookie is missing, invalid or too old. */
  readonly key: string | undefined
  /**
   * The `Set-Cookie` line that removes an invalid cookie, if one came. The cookie of a session that ended or is too old stays,
   * because this response may arrive after that of a new login, and the clock of this machine may be wrong.
   */
  readonly removal: readonly string[]
  /** The latest end of the session in epoch milliseconds: `sessionLifeMs` after its login began, however often the user comes. */
  readonly endsAtMs: number
}

/** Returns an id for the session of a login that begins now. It names this time, because that decides how long the session lasts. */
export function newSessionId({ config }: SessionCookieContext): string {
  const random = crypto.getRandomValues(new Uint8Array(32))
  return `${Math.floor(config.clock.wallMs() / 1_000).toString(36)}.${base64url(random)}`
}

/**
 * Returns the key of a session, from which the name of its record is made: a hash of the id and the redirect URI. Neither a copy of the
 * storage nor the cookie of another app opens a session.
 */
export async function sessionKey({ config }: SessionCookieContext, id: string): Promise<string> {
  return `web-${await sha256(`${config.redirectUri} ${id}`)}`
}

/** Returns whether a text has the form of the keys of browser sessions. */
export function isSessionKey(text: string): boolean {
  return /^web-[\w-]{43}$/.test(text)
}

/**
 * Throws `config_invalid` for a value that is no key: no text, an empty text, or the cookie in its place. Every other text may be
 * a key of the app's own: a server without a browser can keep a session in the same storage, under the `key` of its `createSession`.
 */
export function checkSessionKey({ sessionCookie }: SessionCookieContext, key: unknown): void {
  if (typeof key !== 'string' || key === '') invalid('key must be a string that is not empty')
  if (sessionId.test(key) || key.includes(`${sessionCookie.name}=`))
    invalid('key must be session.key of getSession, and not the cookie')
}

/** Returns the session that a request's cookie names, without reading the storage. */
export async function readSessionCookie(
  context: SessionCookieContext,
  request: { readonly headers: CookieHeader },
): Promise<NamedSession> {
  const { sessionCookie, sessionLifeMs, config } = context
  const id = readCookies(request).get(sessionCookie.name)
  if (id === undefined) return { key: undefined, removal: [], endsAtMs: 0 }
  const [, began] = sessionId.exec(id) ?? []
  if (began === undefined) return { key: undefined, removal: [cookieLine(sessionCookie)], endsAtMs: 0 }
  // The time is part of the hashed id, so an id with another time names another session.
  const endsAtMs = Number.parseInt(began, 36) * 1_000 + sessionLifeMs
  const isTooOld = config.clock.wallMs() >= endsAtMs
  return { key: isTooOld ? undefined : await sessionKey(context, id), removal: [], endsAtMs }
}

/** `crypto.hash` of Node 20.12 and later. It is declared here, because the types of other platforms do not have it. */
interface NodeCrypto {
  hash?(algorithm: 'sha256', text: string, encoding: 'base64url'): string
}

/** Returns the SHA-256 of a text in base64url. Web Crypto waits for another thread, the function of Node does not. */
async function sha256(text: string): Promise<string> {
  const { hash }: NodeCrypto = globalThis.process?.getBuiltinModule?.('node:crypto') ?? {}
  if (hash) return hash('sha256', text, 'base64url')
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
}
