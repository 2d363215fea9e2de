import { invalid } from '../config/invalid.ts'
import { checkedElsewhere, checkOptions, type OptionKinds, storageKind } from '../config/options.ts'
import { checkServiceUrl } from '../config/service-url.ts'
import { type AuthConfig, type AuthConfigOptions, authOptionKinds, configFrom } from '../config.ts'
import type { SealKeys } from '../storage/encrypt.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import { type CookieKind, cookieKinds, type LoginCookieKind } from './cookies/cookies.ts'
import type { BackendEvent } from './events.ts'
import { type PassedHeaders, type ProxyHeaderNames, passedHeaders } from './proxy/headers.ts'
import { type ProxyRoute, proxyRoutes } from './proxy/routes.ts'
import { sealKeys } from './secrets.ts'
import { type LiveSessions, liveSessions } from './sessions/live-sessions.ts'
import { type LockedStorage, watchedStorage } from './sessions/watched-storage.ts'

/** The options of `createAuthConfig`, with `redirectUri` at `{basePath}/callback` of the app's own origin, and these. */
export interface BackendOptions extends Omit<AuthConfigOptions, 'onEvent'> {
  /** Where the sessions are kept. Several processes need one they share, with a `withLock`. */
  sessions: TokenStorage
  /** Strings of at least 32 characters: the first seals, all of them open. */
  secrets: readonly string[]
  /** Where login, callback, session and logout are served. Default `/auth`. */
  basePath?: string | undefined
  /** What may be called through this backend: `METHOD /path/:param` under `baseUrl`, served at the same path. Default: nothing. */
  proxy?: readonly string[] | undefined
  /** Headers that pass the proxy in addition to [those that always do](../../docs/backend.md#headers). Default: none. */
  proxyHeaders?: ProxyHeaderNames | undefined
  /** Of the session cookie. `lax` lets links from other sites arrive signed in, and start a login that ends at any page. Default `strict`. */
  sameSite?: 'strict' | 'lax' | undefined
  /** A session's longest life, which should not exceed the refresh token's. Milliseconds, default 30 days, at most 400. */
  sessionLifeMs?: number | undefined
  /** A path of the app that shows a login that failed, called with `?code=`; default: a page of ours. */
  errorPath?: string | undefined
  /** Where to revoke the refresh token at logout, if the service has such an endpoint. RFC 7009. */
  revocationEndpoint?: string | undefined
  /** Receives structured events without any secret. What it throws is ignored. */
  onEvent?: ((event: BackendEvent) => void) | undefined
}

/** What every route works with. Nothing of it comes from a request. */
export interface BackendContext {
  readonly config: AuthConfig
  /** The fetch the API is called with. */
  readonly apiFetch: typeof fetch | undefined
  readonly sessions: LockedStorage
  readonly live: LiveSessions
  /** The latest session keys by the id they were made from. */
  readonly knownKeys: Map<string, string>
  readonly keys: () => Promise<SealKeys>
  readonly basePath: string
  /** The app's own, where its pages and this backend are. */
  readonly origin: string
  readonly routes: readonly ProxyRoute[]
  readonly passedHeaders: PassedHeaders
  readonly sessionCookie: CookieKind
  readonly loginCookie: LoginCookieKind
  readonly sessionLifeMs: number
  readonly errorPath: string | undefined
  readonly revocationEndpoint: string | undefined
  emit(event: BackendEvent): void
}

const optionKinds: OptionKinds<BackendOptions> = {
  ...authOptionKinds,
  sessions: storageKind,
  secrets: 'list',
  basePath: 'string',
  proxy: 'list',
  proxyHeaders: checkedElsewhere,
  sameSite: { oneOf: ['strict', 'lax'] },
  sessionLifeMs: 'number',
  errorPath: 'string',
  revocationEndpoint: 'string',
}

const dayMs = 86_400_000

/** Checks the options once; throws `config_invalid`. */
export function backendContext(options: BackendOptions): BackendContext {
  checkOptions('createBackend', options, optionKinds)
  const { sessions, secrets, basePath = '/auth', proxy = [], sameSite = 'strict', sessionLifeMs = 30 * dayMs } = options
  const { errorPath, revocationEndpoint } = options
  const config = configFrom(options as AuthConfigOptions)
  const { origin, protocol, port, pathname } = new URL(config.redirectUri)
  // Dots are refused by the next line: the URL has lost them.
  if (!/^(\/[\w.~-]+)+$/.test(basePath)) invalid('basePath must be a plain path such as /auth')
  if (pathname !== `${basePath}/callback`) invalid(`redirectUri must end in ${basePath}/callback`)
  if (!sessions) invalid('sessions is missing')
  if (!(sessionLifeMs >= 60_000 && sessionLifeMs <= 400 * dayMs)) invalid('sessionLifeMs must be a minute to 400 days')
  if (errorPath !== undefined && !/^\/(?![/\\])[^?#\s]*$/.test(errorPath)) invalid('errorPath must be a path')
  if (revocationEndpoint !== undefined) checkServiceUrl('revocationEndpoint', revocationEndpoint)
  const security = protocol === 'https:' ? 'secure' : 'loopback'
  const cookies = cookieKinds({ security, port, basePath, sameSite, sessionLifeMs })
  const emit = config.emit as (event: BackendEvent) => void
  const watched = watchedStorage(sessions, emit)
  return Object.freeze<BackendContext>({
    config,
    apiFetch: options.fetch,
    sessions: watched,
    live: liveSessions(config, watched),
    knownKeys: new Map(),
    keys: sealKeys(secrets),
    basePath,
    origin,
    routes: proxyRoutes(proxy, basePath),
    passedHeaders: passedHeaders(options.proxyHeaders ?? {}),
    ...cookies,
    sessionLifeMs,
    errorPath,
    revocationEndpoint,
    emit,
  })
}
