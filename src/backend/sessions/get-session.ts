import { readClaims, type TokenClaims } from '../../claims.ts'
import { invalid } from '../../internal/values.ts'
import type { AccessTokenSource, GetAccessTokenOptions } from '../../session.ts'
import type { BackendContext } from '../context.ts'
import { checkSessionKey, headerReader, readSessionCookie } from '../cookies.ts'
import { apiFetch } from './live-sessions.ts'

/** A request, or the key of a session that your own code keeps. */
export type SessionSource =
  /** `headers`: those of the request, with its cookies. Node, Express and Fastify have them as an object. */
  | { readonly headers: Headers | { readonly cookie?: string | undefined } }
  /** `key`: that of a session, for work without a request. */
  | { readonly key: string }

/** The session of one user, for server code. None of its members is a token: each call reads the current ones. */
export interface SignedInSession extends AccessTokenSource {
  /** Whether there is a session: also if its access token must be refreshed first. */
  readonly signedIn: true
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
export type BackendSession = SignedInSession | { readonly signedIn: false; readonly status: 'signed-out' }

const signedOut: BackendSession = { signedIn: false, status: 'signed-out' }

/** Returns the session of a request or of a key, without tokens. Rejects with `storage_failed` or `config_invalid`. */
export async function getSession(context: BackendContext, source: SessionSource): Promise<BackendSession> {
  const { config, live, uses } = context
  const key = await keyOf(context, source)
  if (key === undefined) return signedOut
  const tokens = await live.use(key, async (one) => {
    const { status } = await one.session.ready()
    if (status !== 'signed-in') return undefined
    await uses?.note(one.name)
    return one.tokens()
  })
  if (!tokens) return signedOut
  const { expiresAtMs = Number.POSITIVE_INFINITY } = tokens
  // The session is in memory only during a call.
  const getAccessToken: AccessTokenSource['getAccessToken'] = (options) =>
    live.use(key, (one) => one.source.getAccessToken(options))
  return {
    signedIn: true,
    status: config.clock.wallMs() < expiresAtMs ? 'signed-in' : 'needs_refresh',
    key,
    // Read when asked for, because most callers want only the status.
    get claims() {
      return readClaims(tokens)
    },
    fetch: (input, init) => apiFetch(context, { getAccessToken })(input, init),
    getAccessToken,
    signOut: () => live.use(key, ({ session }) => session.signOut()),
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
  return (await readSessionCookie(context, { headers: headerReader(headers) })).key
}
