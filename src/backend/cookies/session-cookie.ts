import { base64url } from '../../internal/base64url.ts'
import type { BackendContext } from '../options.ts'
import { cookieLine, readCookies } from './cookies.ts'

/** When it began, in seconds to base 36, and 256 random bits. */
const shape = /^([\da-z]{5,8})\.[\w-]{43}$/

/** How many hashes are kept, so that a request needs none: they say nothing about who is signed in. */
const maxKnownKeys = 1_000

/** What a request's session cookie stands for; `key` names the record, and no cookie can be made from it. */
export interface FoundSession {
  readonly key: string | undefined
  /**
   * What removes a cookie that cannot name a session; empty if none came. One that may have named a session stays: this
   * answer may arrive when the browser already has the cookie of a new login.
   */
  readonly removal: readonly string[]
  /** When the session ends at the latest, in epoch milliseconds. */
  readonly endsAtMs: number
}

export function newSessionId({ config }: BackendContext): string {
  const random = crypto.getRandomValues(new Uint8Array(32))
  return `${Math.floor(config.clock.wallMs() / 1_000).toString(36)}.${base64url(random)}`
}

/** The store sees only this hash, bound to the app: neither a copy of the store nor another app's cookie opens anything. */
export async function sessionKey({ config, knownKeys }: BackendContext, id: string): Promise<string> {
  const known = knownKeys.get(id)
  if (known !== undefined) return known
  const bytes = new TextEncoder().encode(`${config.redirectUri} ${id}`)
  const key = `web-${base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))}`
  // A copy: a piece of a header would keep all of that in memory.
  knownKeys.set(new TextDecoder().decode(new TextEncoder().encode(id)), key)
  const [oldest = ''] = knownKeys.keys()
  if (knownKeys.size > maxKnownKeys) knownKeys.delete(oldest)
  return key
}

export async function findSession(
  context: BackendContext,
  request: { readonly headers: Headers },
): Promise<FoundSession> {
  const { sessionCookie, sessionLifeMs, config } = context
  const id = readCookies(request).get(sessionCookie.name)
  if (id === undefined) return { key: undefined, removal: [], endsAtMs: 0 }
  const [, began] = shape.exec(id) ?? []
  if (began === undefined) return { key: undefined, removal: [cookieLine(sessionCookie)], endsAtMs: 0 }
  const key = await sessionKey(context, id)
  // The time is part of what is hashed: whoever changes it names another session.
  const endsAtMs = Number.parseInt(began, 36) * 1_000 + sessionLifeMs
  // Refused, and nothing is removed: this machine's clock may be wrong, and the id may be made up.
  return { key: config.clock.wallMs() < endsAtMs ? key : undefined, removal: [], endsAtMs }
}
