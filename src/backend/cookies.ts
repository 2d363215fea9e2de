import { encode as base64url } from 'jose/base64url'
import type { AuthConfig } from '../config.ts'
import { maxLoginMs } from '../internal/limits.ts'
import { invalid } from '../internal/values.ts'

interface CookieOptions {
  readonly redirectUri: string
  readonly basePath: string
  readonly sameSite: 'strict' | 'lax'
  readonly sessionLifeMs: number
}

/**
 * Returns the cookies of a backend. All are `HttpOnly` with `Path=/`, and on https `Secure` and `__Host-`. None contains a token.
 * Names differ for each port and base path of a host, because cookies are not scoped by port. The name of a pending login is `prefix`, the
 * state and `suffix`, which is empty or begins with `+`. No state contains that, so it is clear where the state ends.
 */
export function cookieKinds({ redirectUri, basePath, sameSite, sessionLifeMs }: CookieOptions) {
  const { protocol, port } = new URL(redirectUri)
  // A redirect URI may have http on loopback only, where a cookie has neither `Secure` nor `__Host-`.
  const isSecure = protocol === 'https:'
  const base = `${isSecure ? '__Host-' : ''}agent-auth${port && `-${port}`}`
  const suffix = basePath === '/auth' ? '' : basePath.replaceAll('/', '+')
  const maxAgeS = Math.floor(sessionLifeMs / 1_000)
  return {
    sessionCookie: { name: base + suffix, isSecure, sameSite: sameSite === 'lax' ? 'Lax' : 'Strict', maxAgeS },
    // Browsers do not send a Strict cookie when the authorization server redirects to the callback.
    pendingLoginCookie: { prefix: `${base}-login-`, suffix, isSecure, sameSite: 'Lax', maxAgeS: maxLoginMs / 1_000 },
  }
}

type Cookies = ReturnType<typeof cookieKinds>
/**
 * One cookie of the backend. The same descriptor sets and removes it: a browser finds the cookie by name, host and path, and ignores
 * a line with `__Host-` that lacks its flags. RFC 6265 section 5.3.
 */
export type CookieKind = Cookies['sessionCookie']
export type PendingLoginCookieKind = Cookies['pendingLoginCookie']

/** Returns a `Set-Cookie` line. Without a value it removes the cookie. */
export function cookieLine({ name, sameSite, isSecure, maxAgeS }: CookieKind, value?: string): string {
  const secure = isSecure ? '; Secure' : ''
  const age = value === undefined ? 0 : maxAgeS
  return `${name}=${value ?? ''}; Path=/; HttpOnly; SameSite=${sameSite}${secure}; Max-Age=${age}`
}

/** Reads headers by their names in lower case. */
export type HeaderReader = Pick<Headers, 'get'>

/** Returns a reader of the headers of a request of the Fetch API or of Node. */
export function headerReader(headers: object): HeaderReader {
  if ('get' in headers && typeof headers.get === 'function') return headers as Headers
  return {
    get(name) {
      const value: unknown = Object.hasOwn(headers, name) ? (headers as Record<string, unknown>)[name] : null
      return typeof value === 'string' ? value : null
    },
  }
}

/** Returns the values of a request's cookies by name, the first of each name. RFC 6265 section 4.2.1. */
export function readCookies({ headers }: { readonly headers: HeaderReader }): Map<string, string> {
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

/**
 * Returns what a request's cookie says, without reading the storage. `key` names the record, and no cookie can be made from it. It is
 * undefined if the cookie is missing, invalid or too old. `endsAtMs` is the latest end of the session in epoch milliseconds.
 */
export async function readSessionCookie(
  context: SessionCookieContext,
  request: { readonly headers: HeaderReader },
): Promise<{ readonly key: string | undefined; readonly endsAtMs: number }> {
  const { sessionCookie, sessionLifeMs, config } = context
  const id = readCookies(request).get(sessionCookie.name) ?? ''
  const [, began] = sessionId.exec(id) ?? []
  if (began === undefined) return { key: undefined, endsAtMs: 0 }
  // The time is part of the hashed id, so an id with another time names another session.
  const endsAtMs = Number.parseInt(began, 36) * 1_000 + sessionLifeMs
  return { key: config.clock.wallMs() < endsAtMs ? await sessionKey(context, id) : undefined, endsAtMs }
}

/** `crypto.hash` of Node 20.12 and later. It is declared here, because the types of other platforms do not have it. */
type NodeCrypto = { hash?(algorithm: 'sha256', text: string, encoding: 'base64url'): string }
type NodeGlobal = { process?: { getBuiltinModule?(id: 'node:crypto'): NodeCrypto } }

/** Returns the SHA-256 of a text in base64url. Web Crypto waits for another thread, the function of Node does not. */
async function sha256(text: string): Promise<string> {
  const { hash } = (globalThis as NodeGlobal).process?.getBuiltinModule?.('node:crypto') ?? {}
  if (hash) return hash('sha256', text, 'base64url')
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
}
