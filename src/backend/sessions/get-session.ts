import { readClaims, type TokenClaims } from '../../claims.ts'
import { invalid } from '../../internal/values.ts'
import { sessionName } from '../../session/record.ts'
import type { AccessTokenSource, GetAccessTokenOptions } from '../../session.ts'
import type { Tokens } from '../../tokens.ts'
import type { BackendContext } from '../context.ts'
import { type CookieHeader, checkSessionKey, readSessionCookie } from '../cookies.ts'
import { apiFetch, type LiveSession, usedSource } from './live-sessions.ts'

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
  const key = await keyOf(context, source)
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

/** Own members alone, because with a polluted prototype all requests would name one session. */
async function keyOf(context: BackendContext, source: SessionSource): Promise<string | undefined> {
  if (Object.hasOwn(Object(source), 'key')) {
    const { key } = source as { readonly key: string }
    checkSessionKey(context, key)
    return key
  }
  const { headers } = Object(source) as { readonly headers?: unknown }
  if (typeof headers !== 'object' || headers === null) invalid('getSession needs a request with headers, or { key }')
  return (await readSessionCookie(context, { headers: cookieHeaderOf(headers) })).key
}

/** Returns the headers of a request of the Fetch API or of Node. */
function cookieHeaderOf(headers: object): CookieHeader {
  if ('get' in headers && typeof headers.get === 'function') return headers as Headers
  const cookie = Object.hasOwn(headers, 'cookie') && (headers as { cookie?: unknown }).cookie
  return { get: () => (typeof cookie === 'string' ? cookie : null) }
}

/** Returns the tokens of a session that is not over. */
async function readTokens(
  { uses }: BackendContext,
  { name, session, tokens }: LiveSession,
): Promise<Tokens | undefined> {
  const { status } = await session.ready()
  if (status !== 'signed-in') return undefined
  await uses?.note(name)
  return tokens()
}

/** Returns a source of tokens that has the session in memory only during a call. */
function tokenSourceOf({ config, live, uses }: BackendContext, key: string): AccessTokenSource {
  const source: AccessTokenSource = {
    getAccessToken: (options) => live.use(key, ({ session }) => session.getAccessToken(options)),
  }
  return usedSource(source, uses, sessionName(config, key))
}
