import type { TokenClaims } from '../claims.ts'
import type { AuthConfigOptions } from '../config.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import type { BackendEvent } from './events.ts'
import type { ProxyRouteOptions } from './proxy/allowed-routes.ts'
import type { ProxyHeaderNames } from './proxy/headers.ts'

/**
 * A backend takes all options of `createAuthConfig` and those below. `redirectUri` must be `{basePath}/callback` at the origin of the app.
 * The public address comes from `redirectUri` only: `Host` and `X-Forwarded-*` do not change it.
 */
export interface BackendOptions extends Omit<AuthConfigOptions, 'onEvent'> {
  /** Stores the sessions. Several processes need a storage that they share, with `withLock`. */
  sessions: TokenStorage
  /** Encrypt the cookies of logins: the first encrypts, all decrypt. Different strings of at least 32 characters, one or more. */
  secrets: readonly string[]
  /** Sets the path of the routes login, callback, session and logout. Default `/auth`. */
  basePath?: string | undefined
  /** Further authorize parameters of every login, as in `startLogin`. Default: none. */
  params?: Readonly<Record<string, string>> | undefined
  /**
   * Lists the routes of the API that pages may call: `METHOD /path/:param` under `baseUrl`, served at the same path, or an object
   * with limits of its own. Default: none.
   */
  proxy?: readonly (string | ProxyRouteOptions)[] | undefined
  /** Names headers that pass the proxy in addition to [those that always do](../../docs/backend.md#headers). Default: none. */
  proxyHeaders?: ProxyHeaderNames | undefined
  /** Limits the proxied requests of one session that are in progress in this process. Further ones get 429. Default 100. */
  maxParallelCalls?: number | undefined
  /**
   * Sets `SameSite` of the session cookie. With `lax`, links from other sites arrive signed in and choose the return URL. Default
   * `strict`.
   */
  sameSite?: 'strict' | 'lax' | undefined
  /**
   * Limits the life of a session. It should not exceed that of the refresh token. Milliseconds, default 30 days, from a minute to
   * 400 days.
   */
  sessionLifeMs?: number | undefined
  /**
   * Refuses a session that was not used for this time, or for 90 % of it, because a use is noted once in a tenth of it. Milliseconds,
   * from two minutes to 400 days. Default: no limit but `sessionLifeMs`.
   */
  idleMs?: number | undefined
  /** Names a path of the app that shows a failed login. It is loaded with `?code=`. Default: a page of the backend. */
  errorPath?: string | undefined
  /** Names the endpoint that revokes the refresh token at logout. Default: no revocation. RFC 7009. */
  revocationEndpoint?: string | undefined
  /**
   * Called once for each login, before the user sees the app, for example to create a row for `claims?.subject`. The login waits for it.
   * If it throws, the login fails with 500, and the session ends. Default: nothing.
   */
  onSignedIn?: ((login: NewSession) => unknown) | undefined
  /**
   * Receives structured events without secrets. The backend ignores what it throws. Default: on loopback, a line for the first failure,
   * and before it one for each setup problem.
   */
  onEvent?: ((event: BackendEvent) => void) | undefined
}

/** The session of a login that succeeded. */
export interface NewSession {
  /** Names the session, as `key` of `getSession`. */
  readonly key: string
  /** What the access token says about its user. Undefined for a token that is no JWT. Not verified: it came from the token endpoint. */
  readonly claims: TokenClaims | undefined
}

export const ownOptionNames: readonly (keyof BackendOptions)[] = [
  'sessions',
  'secrets',
  'basePath',
  'params',
  'proxy',
  'proxyHeaders',
  'maxParallelCalls',
  'sameSite',
  'sessionLifeMs',
  'idleMs',
  'errorPath',
  'revocationEndpoint',
  'onSignedIn',
]
