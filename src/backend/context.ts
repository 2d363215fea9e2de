import { checkOptions } from '../config/check-options.ts'
import { clientCredentials, otherBasicEncoding } from '../config/client-authentication.ts'
import { invalid } from '../config/invalid.ts'
import { checkApiUrl, checkServiceUrl } from '../config/service-url.ts'
import { type AuthConfig, type AuthConfigOptions, configFrom } from '../config.ts'
import { idleLimits, sessionLifeLimitsMs } from '../internal/limits.ts'
import type { EncryptionKeys } from '../storage/jwe.ts'
import { type CookieKind, cookieKinds, type PendingLoginCookieKind } from './cookies/cookie-attributes.ts'
import { pendingLoginKeys } from './cookies/pending-login-keys.ts'
import type { BackendEvent } from './events.ts'
import { type BackendOptions, backendOptionKinds } from './options.ts'
import { type ProxyRoute, proxyRoutes } from './proxy/allowed-routes.ts'
import { type PassedHeaders, passedHeaders } from './proxy/headers.ts'
import { type Endings, sessionEndings } from './sessions/bulk-endings.ts'
import { validSessions } from './sessions/hide-ended-sessions.ts'
import { lastUses } from './sessions/last-use.ts'
import { type LiveSessions, liveSessions } from './sessions/live-sessions.ts'
import { endedRemoval } from './sessions/remove-ended.ts'
import { type SessionUses, sessionUses } from './sessions/session-uses.ts'
import { type LockedStorage, watchedStorage } from './sessions/storage-failure-events.ts'
import { type SetupProblems, setupProblems } from './setup-problems.ts'
import { unheardEvents } from './unheard-events.ts'

/** The checked options and the state of one backend. No option of it comes from a request. */
export interface BackendContext {
  readonly config: AuthConfig
  /** Sends the requests to the API. Default: the platform's `fetch`. */
  readonly injectedFetch: typeof fetch | undefined
  /** Shows only the records of sessions that have not ended. */
  readonly sessions: LockedStorage
  readonly endings: Endings
  readonly live: LiveSessions
  /** The last uses of the sessions. Undefined if `idleMs` is not set, so that no session ends for lack of use. */
  readonly uses: SessionUses | undefined
  /** A cache by session id, because a session key is a hash of it (`sessionKey` in cookies/session-cookie.ts). */
  readonly sessionKeys: Map<string, string>
  readonly pendingLoginKeys: () => Promise<EncryptionKeys>
  readonly basePath: string
  /** The origin of the app. Its pages and this backend are served from it. */
  readonly origin: string
  readonly routes: readonly ProxyRoute[]
  readonly passedHeaders: PassedHeaders
  readonly sessionCookie: CookieKind
  readonly pendingLoginCookie: PendingLoginCookieKind
  readonly sessionLifeMs: number
  readonly errorPath: string | undefined
  readonly revocationEndpoint: string | undefined
  /**
   * The value of `basicEncoding` that is not in use, if both encode the id or the secret differently. The page of a failed login suggests
   * it after `invalid_client` (`messageOf` in routes/callback.ts).
   */
  readonly otherBasicEncoding: 'form' | 'raw' | undefined
  readonly setupProblems: SetupProblems
  emit(event: BackendEvent): void
}

/**
 * Maps a wrong name of an option to the right one. The wrong names come from other functions of this library, from the variables that
 * `agent-service` prints, and from other libraries.
 */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['storage', 'sessions'],
  ['store', 'sessions'],
  ['cookieSecret', 'secrets'],
  ['cookieSecrets', 'secrets'],
  ['callbackPath', 'redirectUri and basePath'],
])

/** Checks the options and creates the context. Throws `config_invalid`. */
export function backendContext(given: BackendOptions): BackendContext {
  for (const [name, value] of Object.entries(given ?? {})) {
    const meant = otherNames.get(name)
    if (meant && value !== undefined) invalid(`${name} is not an option of createBackend. Use ${meant}`)
  }
  const options = checkOptions('createBackend', given, backendOptionKinds)
  checkVariables(options)
  const { sessions, basePath = '/auth', proxy = [], sameSite = 'strict', errorPath, revocationEndpoint } = options
  const { sessionLifeMs = sessionLifeLimitsMs.default, idleMs } = options
  const config = configFrom(options as AuthConfigOptions, clientCredentials(options))
  const routes = proxyRoutes(proxy, basePath)
  // The paths of the API begin with /api. With a baseUrl that ends in /api, they would have it twice.
  if (routes.some(({ template }) => / \/api\//.test(template))) checkApiUrl(config.baseUrl)
  const { origin, protocol, port, pathname } = new URL(config.redirectUri)
  const { allowHttpHosts } = config
  checkValues({ sessions, basePath, pathname, sessionLifeMs, idleMs, errorPath, revocationEndpoint, allowHttpHosts })
  // A redirect URI may have http on loopback only.
  const security = protocol === 'https:' ? 'secure' : 'loopback'
  const cookies = cookieKinds({ security, port, basePath, sameSite, sessionLifeMs })
  const emit = options.onEvent ? (config.emit as (event: BackendEvent) => void) : unheardEvents(config.redirectUri)
  const endable = endableSessions(config, watchedStorage(sessions, emit), { idleMs, revocationEndpoint, emit })
  return Object.freeze<BackendContext>({
    config,
    injectedFetch: options.fetch,
    ...endable,
    live: liveSessions(config, endable.sessions),
    sessionKeys: new Map(),
    pendingLoginKeys: pendingLoginKeys(options.secrets),
    basePath,
    origin,
    routes,
    passedHeaders: passedHeaders(options.proxyHeaders ?? {}),
    ...cookies,
    sessionLifeMs,
    errorPath,
    revocationEndpoint,
    otherBasicEncoding: otherBasicEncoding(options),
    setupProblems: setupProblems(origin, emit),
    emit,
  })
}

/** Throws `config_invalid` for text that is empty, as `process.env.X ?? ''` is without the variable. */
function checkVariables(options: BackendOptions): void {
  for (const name of ['authUrl', 'baseUrl', 'clientId'] as const)
    if (options[name] === '')
      invalid(`${name} is empty. If it comes from process.env: Node reads .env only with --env-file=.env`)
}

/** Returns the storage that shows only sessions that have not ended, and what tells that: their endings and their last uses. */
function endableSessions(
  config: AuthConfig,
  watched: LockedStorage,
  options: Pick<BackendOptions, 'idleMs' | 'revocationEndpoint'> & Pick<BackendContext, 'emit'>,
): Pick<BackendContext, 'sessions' | 'endings' | 'uses'> {
  const { idleMs, revocationEndpoint, emit } = options
  const endings = sessionEndings(config, watched)
  const uses = idleMs === undefined ? undefined : lastUses(watched, { clock: config.clock, idleMs })
  const removeEnded = endedRemoval({ config, revocationEndpoint, allSessions: watched, uses, emit })
  return {
    sessions: validSessions(watched, { endings, uses, removeEnded }),
    endings,
    uses: uses && sessionUses(config, uses),
  }
}

interface CheckedValues {
  readonly sessions: unknown
  readonly basePath: string
  /** That of the redirect URI. */
  readonly pathname: string
  readonly sessionLifeMs: number
  readonly idleMs: number | undefined
  readonly errorPath: string | undefined
  readonly revocationEndpoint: string | undefined
  readonly allowHttpHosts: readonly string[]
}

/**
 * Throws `config_invalid` for a value that an option may not have. `sessionLifeMs` may be from `sessionLifeLimitsMs.min`, 1 minute,
 * to `sessionLifeLimitsMs.max`, 400 days. `idleMs` may be from `idleLimits.minMs`, 2 minutes, to the same maximum.
 */
function checkValues(values: CheckedValues): void {
  const { sessions, basePath, pathname, sessionLifeMs, idleMs, errorPath, revocationEndpoint, allowHttpHosts } = values
  const { min, max } = sessionLifeLimitsMs
  if (!/^(\/[\w.~-]+)+$/.test(basePath)) invalid('basePath must be a plain path such as /auth')
  // This also refuses a basePath with a segment `.` or `..`, because the URL parser removed those from the redirect URI.
  if (pathname !== `${basePath}/callback`) invalid(`redirectUri must end in ${basePath}/callback`)
  if (!sessions) invalid('sessions is missing. Set a storage such as memoryStorage()')
  if (Object.prototype.toString.call(sessions) === '[object Storage]')
    invalid('sessions must not be localStorage. Set a storage such as memoryStorage()')
  if (!(sessionLifeMs >= min && sessionLifeMs <= max))
    invalid('sessionLifeMs must be from a minute to 400 days, in milliseconds')
  if (idleMs !== undefined && !(idleMs >= idleLimits.minMs && idleMs <= max))
    invalid('idleMs must be from two minutes to 400 days, in milliseconds')
  if (errorPath !== undefined && !/^\/(?![/\\])[^?#\s]*$/.test(errorPath))
    invalid('errorPath must be a path of the app, such as /sign-in-failed')
  if (revocationEndpoint !== undefined) checkServiceUrl('revocationEndpoint', revocationEndpoint, allowHttpHosts)
}
