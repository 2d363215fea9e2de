import { readClaims, type TokenClaims } from '../../claims.ts'
import { invalid } from '../../config/invalid.ts'
import type { AccessTokenSource, GetAccessTokenOptions } from '../../session.ts'
import type { Tokens } from '../../tokens.ts'
import type { BackendContext } from '../context.ts'
import type { CookieHeader } from '../cookies/read-cookies.ts'
import { checkSessionKey, readSessionCookie } from '../cookies/session-cookie.ts'
import { apiFetch } from './api-fetch.ts'
import type { LiveSession } from './live-sessions.ts'
import { usedSource } from './session-uses.ts'

/** A request, or the key of a session that your own code keeps. */
export type SessionSource =
  /** `headers`: those of the request, with its cookies. Node, Express and Fastify have them as an object. */
  | { readonly headers: Headers | { readonly cookie?: string | undefined } }
  /** `key`: that of a session, for work without a request. */
  | { readonly key: string }

/** The session of one user, for server code. None of its members is a token: each call reads the current ones. */
export interface SignedInSession extends AccessTokenSource {
  /**
   * `needs_refresh`: the access token has expired, and the next call refreshes it first. Without a refresh token that call rejects
   * with `login_required`.
   */
  readonly status: 'signed-in' | 'needs_refresh'
  /** Names the session for later work without a request. No cookie can be made from it. */
  readonly key: string
  /**
   * What the access token said about its user at this call. Undefined for a token that is no JWT. Not verified: fit for display,
   * never for a decision about access.
   */
  readonly claims: TokenClaims | undefined
  /** Calls the API under `baseUrl` as this user. Rejects with `origin_forbidden` for any other URL. */
  readonly fetch: typeof fetch
  /** Returns a valid access token. Rejects as `getAccessToken` of a session does. */
  getAccessToken(options?: GetAccessTokenOptions): Promise<string>
  /** Ends the session in all processes. Sends no revocation and emits no `logged_out`. Rejects with `storage_failed`. */
  signOut(): Promise<void>
}

/** The session of a request, or `signed-out` if it has none. */
export type BackendSession = SignedInSession | { readonly status: 'signed-out' }

/** Returns the session of a request or of a key, without tokens. Rejects with `storage_failed` or `config_invalid`. */
export async function getSession(context: BackendContext, source: SessionSource): Promise<BackendSession> {
  if (hasKey(source)) checkSessionKey(context, source.key)
  const key = hasKey(source) ? source.key : (await readSessionCookie(context, { headers: headersOf(source) })).key
  const tokens = key === undefined ? undefined : await context.live.use(key, (live) => readTokens(context, live))
  if (key === undefined || !tokens) return { status: 'signed-out' }
  const { expiresAtMs = Number.POSITIVE_INFINITY } = tokens
  const tokenSource = tokenSourceOf(context, key)
  let claims: { readonly read: TokenClaims | undefined } | undefined
  let send: typeof fetch | undefined
  return {
    status: context.config.clock.wallMs() < expiresAtMs ? 'signed-in' : 'needs_refresh',
    key,
    // Claims are read and `fetch` is created at their first use, because most callers want only the status.
    get claims() {
      claims ??= { read: readClaims(tokens) }
      return claims.read
    },
    fetch(input, init) {
      send ??= apiFetch(context, tokenSource)
      return send(input, init)
    },
    ...tokenSource,
    signOut: () => context.live.use(key, ({ session }) => session.signOut()),
  }
}

/** Returns the tokens of a session that has not ended. */
async function readTokens(
  { uses }: BackendContext,
  { key, session, current }: LiveSession,
): Promise<Tokens | undefined> {
  const { status } = await session.ready()
  if (status !== 'signed-in') return undefined
  if (uses) await uses.note(key)
  return current.record?.tokens
}

/** Returns the headers of a request of the Fetch API or of Node. Throws `config_invalid`. */
function headersOf(source: unknown): CookieHeader {
  const headers = membersOf(source).headers
  if (isFetchHeaders(headers)) return headers
  if (typeof headers !== 'object' || headers === null) invalid('getSession needs a request with headers, or { key }')
  // An inherited cookie does not count, because with a polluted prototype all requests would have it.
  const cookie = Object.hasOwn(headers, 'cookie') && membersOf(headers).cookie
  return { get: () => (typeof cookie === 'string' ? cookie : null) }
}

/** Returns what is wrong with an argument of `handle` that is no `Request`, such as a request of Node or Express; else undefined. */
export function requestProblem(request: unknown): string | undefined {
  if (isFetchHeaders(membersOf(request).headers)) return undefined
  return 'handle needs a Request of the Fetch API. For node:http, Express and Fastify, use agent-auth/backend/node'
}

function isFetchHeaders(headers: unknown): headers is Headers {
  return typeof membersOf(headers).get === 'function'
}

/** An inherited key does not count, because with a polluted prototype it would name one session for all requests. */
function hasKey(source: SessionSource): source is { readonly key: string } {
  return Object.hasOwn(membersOf(source), 'key')
}

function membersOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null ? (value as { readonly [name: string]: unknown }) : {}
}

/** Returns a source of tokens that has the session in memory only during a call. */
function tokenSourceOf({ live, uses }: BackendContext, key: string): AccessTokenSource {
  const source: AccessTokenSource = {
    getAccessToken: (options) => live.use(key, ({ session }) => session.getAccessToken(options)),
  }
  return usedSource(source, uses, key)
}
