import { checkArgument } from '../../config/check-options.ts'
import { invalid } from '../../config/invalid.ts'
import { base64url } from '../../internal/base64url.ts'
import { maxRememberedSessionKeys } from '../../internal/limits.ts'
import type { BackendContext } from '../context.ts'
import { removeOldest } from '../remove-oldest.ts'
import { cookieLine } from './cookie-attributes.ts'
import { type CookieHeader, readCookies } from './read-cookies.ts'
import { sha256 } from './sha256.ts'

/**
 * The form of a session id: when its login began, in seconds to base 36, and 256 random bits. A session has three names. The id is
 * the value of the cookie. The key is a hash of the id, and the app may see it. `sessionName` makes the name of the record from the key.
 * cookie-attributes.ts sets the attributes of the cookie. The random bits protect the
 * session id against guesses, so this cookie is neither signed nor encrypted. The option `secrets` encrypts the cookies of pending logins
 * only (pending-login-keys.ts).
 */
const sessionId = /^([\da-z]{5,8})\.[\w-]{43}$/

/** The session that a request's cookie names. */
export interface NamedSession {
  /** Names the record. No cookie can be made from it. Undefined if the cookie is missing, invalid or too old. */
  readonly key: string | undefined
  /**
   * The `Set-Cookie` line that removes an invalid cookie, if one came. The cookie of a session that ended or is too old stays,
   * because this response may arrive after that of a new login, and the clock of this machine may be wrong.
   */
  readonly removal: readonly string[]
  /**
   * The latest end of the session in epoch milliseconds: `sessionLifeMs` (`sessionLifeLimitsMs.default`, 30 days) after its login
   * began, however often the user comes.
   */
  readonly endsAtMs: number
}

/** Returns an id for the session of a login that begins now. It names this time, because that decides how long the session lasts. */
export function newSessionId({ config }: BackendContext): string {
  const random = crypto.getRandomValues(new Uint8Array(32))
  return `${Math.floor(config.clock.wallMs() / 1_000).toString(36)}.${base64url(random)}`
}

/**
 * Returns the key from which `sessionName` makes the name of the record: a hash of the id and the redirect URI. Neither a copy of the
 * storage nor the cookie of another app opens a session. The process remembers the keys of the latest ids (`maxRememberedSessionKeys`,
 * 1,000), because a hash at each request takes time.
 */
export async function sessionKey({ config, sessionKeys }: BackendContext, id: string): Promise<string> {
  const known = sessionKeys.get(id)
  if (known !== undefined) return known
  const key = `web-${await sha256(`${config.redirectUri} ${id}`)}`
  // The id is copied, because a slice of a header keeps the whole header in memory.
  sessionKeys.set(new TextDecoder().decode(new TextEncoder().encode(id)), key)
  removeOldest(sessionKeys, maxRememberedSessionKeys)
  return key
}

/** Returns whether a text has the form of the keys of browser sessions. */
export function isSessionKey(text: string): boolean {
  return /^web-[\w-]{43}$/.test(text)
}

/**
 * Throws `config_invalid` for a value that is no key: no text, an empty text, or the cookie in its place. Every other text may be
 * a key of the app's own: a server without a browser can keep a session in the same storage, under the `key` of its `createSession`.
 */
export function checkSessionKey({ sessionCookie }: BackendContext, key: unknown): void {
  checkArgument('key', key, 'string')
  if (key === '') invalid('key must not be empty')
  if (sessionId.test(key as string) || (key as string).includes(`${sessionCookie.name}=`))
    invalid('key must be session.key of getSession, and not the cookie')
}

/** Returns the session that a request's cookie names, without reading the storage. */
export async function readSessionCookie(
  context: BackendContext,
  request: { readonly headers: CookieHeader },
): Promise<NamedSession> {
  const { sessionCookie, sessionLifeMs, config } = context
  const id = readCookies(request).get(sessionCookie.name)
  if (id === undefined) return { key: undefined, removal: [], endsAtMs: 0 }
  const [, began] = sessionId.exec(id) ?? []
  if (began === undefined) return { key: undefined, removal: [cookieLine(sessionCookie)], endsAtMs: 0 }
  const key = await sessionKey(context, id)
  // The time is part of the hashed id, so an id with another time names another session.
  const endsAtMs = Number.parseInt(began, 36) * 1_000 + sessionLifeMs
  return { key: config.clock.wallMs() < endsAtMs ? key : undefined, removal: [], endsAtMs }
}
