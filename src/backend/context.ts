import { type AuthConfigOptions, authOptionNames, serverConfig } from '../config.ts'
import { checkNames, checkStorage, invalid } from '../internal/values.ts'
import { checkApiUrl, checkServiceUrl, isLoopback } from '../service-url.ts'
import { cookieKinds } from './cookies.ts'
import { type BackendEvent, type SetupProblemEvent, unheardEvents } from './events.ts'
import { pendingLoginKeys } from './login-cookie.ts'
import { type BackendOptions, ownOptionNames } from './options.ts'
import { proxyRoutes } from './proxy/allowed-routes.ts'
import { passedHeaders } from './proxy/headers.ts'
import { lastUses } from './sessions/last-use.ts'
import { liveSessions } from './sessions/live-sessions.ts'
import { sessionEndings } from './sessions/not-before.ts'
import { validSessions, watchedStorage } from './sessions/session-storage.ts'

const dayMs = 86_400_000
/** The longest that browsers keep a cookie. */
const maxLifeMs = 400 * dayMs
const minLifeMs = 60_000
/** The clocks of machines may differ by a minute. */
const minIdleMs = 120_000

/** The checked options and the state of one backend. No option of it comes from a request. */
export type BackendContext = ReturnType<typeof backendContext>

/** Checks the options and creates the context. Throws `config_invalid`. */
export function backendContext(given: BackendOptions) {
  const options = checkNames('createBackend', given, [...authOptionNames, ...ownOptionNames])
  const { basePath = '/auth', params, proxy = [], proxyHeaders = {}, maxParallelCalls = 100, onSignedIn } = options
  const { sameSite = 'strict', sessionLifeMs = 30 * dayMs, idleMs, errorPath, revocationEndpoint } = options
  const config = serverConfig(options as AuthConfigOptions)
  const { redirectUri, clock } = config
  const { origin, hostname, pathname } = new URL(redirectUri)
  checkPaths({ basePath, pathname, errorPath })
  checkStorage('sessions', options.sessions)
  checkRange('sessionLifeMs', sessionLifeMs, minLifeMs, maxLifeMs, 'a minute to 400 days, in milliseconds')
  if (idleMs !== undefined)
    checkRange('idleMs', idleMs, minIdleMs, maxLifeMs, 'two minutes to 400 days, in milliseconds')
  checkRange('maxParallelCalls', maxParallelCalls, 1, Number.MAX_SAFE_INTEGER, '1 upwards')
  if (sameSite !== 'strict' && sameSite !== 'lax') invalid('sameSite must be strict or lax')
  if (onSignedIn !== undefined && typeof onSignedIn !== 'function') invalid('onSignedIn must be a function')
  if (revocationEndpoint !== undefined) checkServiceUrl('revocationEndpoint', revocationEndpoint, config.allowHttpHosts)
  const routes = proxyRoutes(proxy, basePath)
  // The paths of the API begin with /api. With a baseUrl that ends in /api, they would have it twice.
  if (routes.some(({ template }) => / \/api\//.test(template))) checkApiUrl(config.baseUrl)
  const isLocal = isLoopback(hostname)
  const emit = options.onEvent ? (config.emit as (event: BackendEvent) => void) : unheardEvents(isLocal)
  const watched = watchedStorage(options.sessions, emit)
  const endings = sessionEndings(config, watched)
  const uses = idleMs === undefined ? undefined : lastUses(watched, { clock, idleMs })
  const sessions = validSessions(watched, { config, revocationEndpoint, endings, uses, emit })
  const reported = new Set<string>()
  return Object.freeze({
    config,
    /** Sends the requests to the API. Default: the platform's `fetch`. */
    injectedFetch: options.fetch,
    /** Shows only the records of sessions that are not over. */
    sessions,
    endings,
    live: liveSessions(config, sessions, uses),
    /** The last uses of the sessions. Undefined if no session ends for lack of use. */
    uses,
    pendingLoginKeys: pendingLoginKeys(options.secrets),
    basePath,
    /** The origin of the app. Its pages and this backend are served from it. */
    origin,
    /** Whether the app is on loopback, where the user is its developer. */
    isLocal,
    params: params && { ...params },
    routes,
    passedHeaders: passedHeaders(proxyHeaders),
    maxParallelCalls,
    ...cookieKinds({ redirectUri, basePath, sameSite, sessionLifeMs }),
    sessionLifeMs,
    errorPath,
    revocationEndpoint,
    onSignedIn,
    /** The callbacks in progress, by state. Those of one login send its code once. RFC 6749 section 4.1.2. */
    callbacks: new Map<string, Promise<void>>(),
    emit,
    /** Emits `setup_problem`, once for each problem, and only on loopback: elsewhere a reverse proxy may change host and path. */
    reportSetup(problem: SetupProblemEvent['problem'], message: string) {
      if (!isLocal || reported.has(problem)) return
      reported.add(problem)
      emit({ type: 'setup_problem', problem, cause: { name: 'AgentAuthError', code: 'config_invalid', message } })
    },
  })
}

function checkPaths({ basePath, pathname, errorPath }: Record<'basePath' | 'pathname' | 'errorPath', unknown>): void {
  if (typeof basePath !== 'string' || !/^(\/[\w.~-]+)+$/.test(basePath))
    invalid('basePath must be a plain path such as /auth')
  // This also refuses a basePath with a segment `.` or `..`, because the URL parser removed those from the redirect URI.
  if (pathname !== `${basePath}/callback`) invalid(`redirectUri must end in ${basePath}/callback`)
  if (errorPath !== undefined && !/^\/(?![/\\])[^?#\s]*$/.test(String(errorPath)))
    invalid('errorPath must be a path of the app, such as /sign-in-failed')
}

function checkRange(name: string, value: unknown, min: number, max: number, range: string): void {
  if (typeof value !== 'number' || !(value >= min && value <= max)) invalid(`${name} must be from ${range}`)
}
