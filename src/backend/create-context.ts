import { type AuthConfigOptions, authOptionNames, clientCredentials, configFrom } from '../config.ts'
import { maxLoginMs } from '../internal/limits.ts'
import { checkNames, invalid } from '../internal/values.ts'
import { checkApiUrl, checkServiceUrl, isLoopback } from '../service-url.ts'
import type { BackendContext } from './context.ts'
import { cookieKinds } from './cookies.ts'
import { type BackendEvent, unheardEvents } from './events.ts'
import { pendingLoginKeys } from './login-cookie.ts'
import { type BackendOptions, ownOptionNames } from './options.ts'
import { proxyRoutes } from './proxy/allowed-routes.ts'
import { passedHeaders } from './proxy/headers.ts'
import { endedRemoval } from './sessions/end-session.ts'
import { lastUses } from './sessions/last-use.ts'
import { liveSessions } from './sessions/live-sessions.ts'
import { sessionEndings, validSessions } from './sessions/not-before.ts'
import { watchedStorage } from './sessions/watched-storage.ts'

const dayMs = 86_400_000
/** The longest that browsers keep a cookie. */
const maxLifeMs = 400 * dayMs
const minLifeMs = 60_000
/** The clocks of machines may differ by a minute. */
const minIdleMs = 120_000

/** Checks the options and creates the context. Throws `config_invalid`. */
export function backendContext(given: BackendOptions): BackendContext {
  const options = checkNames('createBackend', given, [...authOptionNames, ...ownOptionNames])
  const { basePath = '/auth', params, proxy = [], proxyHeaders = {}, maxParallelCalls = 100 } = options
  const { sameSite = 'strict', sessionLifeMs = 30 * dayMs, idleMs, errorPath, revocationEndpoint } = options
  const config = configFrom(options as AuthConfigOptions, clientCredentials(options))
  const { redirectUri, clock } = config
  const { origin, hostname, pathname } = new URL(redirectUri)
  checkPaths({ basePath, pathname, errorPath })
  checkSessions(options.sessions)
  checkRange('sessionLifeMs', sessionLifeMs, minLifeMs, maxLifeMs, 'a minute to 400 days, in milliseconds')
  if (idleMs !== undefined)
    checkRange('idleMs', idleMs, minIdleMs, maxLifeMs, 'two minutes to 400 days, in milliseconds')
  checkRange('maxParallelCalls', maxParallelCalls, 1, Number.MAX_SAFE_INTEGER, '1 upwards')
  if (sameSite !== 'strict' && sameSite !== 'lax') invalid('sameSite must be strict or lax')
  if (revocationEndpoint !== undefined) checkServiceUrl('revocationEndpoint', revocationEndpoint, config.allowHttpHosts)
  const routes = proxyRoutes(proxy, basePath)
  // The paths of the API begin with /api. With a baseUrl that ends in /api, they would have it twice.
  if (routes.some(({ template }) => / \/api\//.test(template))) checkApiUrl(config.baseUrl)
  const isLocal = isLoopback(hostname)
  const emit = options.onEvent ? (config.emit as (event: BackendEvent) => void) : unheardEvents(isLocal)
  const watched = watchedStorage(options.sessions, emit)
  const endings = sessionEndings(config, watched)
  const uses = idleMs === undefined ? undefined : lastUses(watched, { clock, idleMs })
  const removeEnded = endedRemoval({ config, revocationEndpoint, watched, emit })
  const sessions = validSessions(watched, { endings, uses, removeEnded })
  const reported = new Set<string>()
  return Object.freeze<BackendContext>({
    config,
    injectedFetch: options.fetch,
    sessions,
    endings,
    live: liveSessions(config, sessions),
    uses,
    pendingLoginKeys: pendingLoginKeys(options.secrets),
    basePath,
    origin,
    isLocal,
    params: params && { ...params },
    routes,
    passedHeaders: passedHeaders(proxyHeaders),
    maxParallelCalls,
    ...cookieKinds({ redirectUri, basePath, sameSite, sessionLifeMs, loginLifeMs: maxLoginMs }),
    sessionLifeMs,
    errorPath,
    revocationEndpoint,
    emit,
    reportSetup(problem, message) {
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

function checkSessions(sessions: unknown): void {
  const isStorage = ['getItem', 'setItem', 'removeItem'].every((method) => method in Object(sessions))
  if (!isStorage || Object.prototype.toString.call(sessions) === '[object Storage]')
    invalid('sessions must be a storage, such as memoryStorage(), redisStorage(…) or postgresStorage(…)')
}

function checkRange(name: string, value: unknown, min: number, max: number, range: string): void {
  if (typeof value !== 'number' || !(value >= min && value <= max)) invalid(`${name} must be from ${range}`)
}
