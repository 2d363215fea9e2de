import { invalid } from '../config/invalid.ts'
import { isAgentAuthError } from '../errors.ts'
import { type BackendContext, backendContext } from './context.ts'
import { causeOf } from './error-cause.ts'
import { answerMistakenCall } from './mistaken-call.ts'
import type { BackendOptions } from './options.ts'
import { matchRoute } from './proxy/allowed-routes.ts'
import { errorResponse, errorResponseOf } from './responses.ts'
import { callback } from './routes/callback.ts'
import { login } from './routes/login.ts'
import { logout } from './routes/logout.ts'
import { proxy } from './routes/proxy.ts'
import { session } from './routes/session.ts'
import { sharedCallbacks } from './routes/shared-callbacks.ts'
import { endAll, endSessionOfKey, endSessionsOf } from './sessions/ending-calls.ts'
import { type BackendSession, getSession, requestProblem, type SessionSource } from './sessions/get-session.ts'
import type { Mount } from './setup-problems.ts'

/** Login, callback, session, logout and an API proxy for one app. */
export interface Backend {
  /**
   * Responds to requests for the routes of the backend, and resolves to null for all others. Never rejects. Call it for every request
   * of the app: a route such as `/auth/*` gets none of the paths in `proxy`, which the framework then answers with 404.
   */
  handle(request: Request): Promise<Response | null>
  /** Returns whether `handle` responds to requests with this method and path, such as `/auth/login`. */
  serves(method: string, pathname: string): boolean
  /**
   * Emits `setup_problem` on loopback if some routes of the backend arrive at this mount of a framework and others do not. A mount at
   * the whole path of one route, with no route below it, is not reported. `toNodeHandler` and `toFastifyPlugin` call it.
   */
  checkMount(mount: Mount): void
  /** The path of the four routes. */
  readonly basePath: string
  /**
   * Returns the session of a request, or of a `key` that you saved for a background job. Refreshes nothing and sets no
   * cookie, so you can call it where headers are read-only. Write `await`: the promise itself has no `status`. Takes the request objects of
   * Node, Express and Fastify as well. Rejects with `storage_failed` or `config_invalid`.
   */
  getSession(source: SessionSource): Promise<BackendSession>
  /**
   * Ends the session with this `key` of `getSession` in all processes and revokes its refresh token. Resolves to false, and does
   * nothing, if there is none. Rejects with `storage_failed` if the session may still be there, and with `config_invalid` for a
   * cookie and for what is no text.
   */
  endSession(key: string): Promise<boolean>
  /**
   * Ends the sessions of this person in all processes within two seconds. A storage cannot list sessions, so the refresh token of a
   * session is revoked, and its record removed, when it comes back with a request; `endSession` does both at once. `subject`: the
   * `sub` of the claims, not an email address. A sign-in after this call is valid at once. Has no effect on tokens that are no JWT,
   * or if no session has this subject. On loopback `setup_problem` says so if this process has sessions, and none with this subject.
   * Rejects with `storage_failed` if some may still be there, and with `config_invalid`.
   */
  endSessionsOf(subject: string): Promise<void>
  /**
   * Ends all sessions of this client in all processes within two seconds. A sign-in after this call is valid at once. The refresh
   * token of a session is revoked, and its record removed, when it comes back with a request. To revoke those of lost devices at
   * once, call `endSession` with the keys that your code keeps. Rejects with `storage_failed` if they may still be there.
   */
  endAll(): Promise<void>
}

/**
 * Creates a backend for a browser app. The browser holds an opaque cookie and never sees a token. Throws `config_invalid`.
 * OAuth 2.0 for Browser-Based Applications section 6.1.
 */
export function createBackend(options: BackendOptions): Backend {
  const context = backendContext(options)
  const { basePath } = context
  const shared = sharedCallbacks()
  const own = new Map<string, OwnRoute>([
    [`${basePath}/login`, { method: 'GET', serve: (request) => login(context, request) }],
    [`${basePath}/callback`, { method: 'GET', serve: (request) => callback(context, shared, request) }],
    [`${basePath}/session`, { method: 'GET', serve: (request) => session(context, request) }],
    [`${basePath}/logout`, { method: 'POST', serve: (request) => logout(context, request) }],
  ])
  return Object.freeze<Backend>({
    async handle(request, ...mistaken: unknown[]) {
      const problem = requestProblem(request)
      // `createServer(backend.handle)` passes a response of Node as well, which must be ended.
      if (problem) return answerMistakenCall(context, problem, mistaken[0])
      // The name of the route in `unexpected_error`: the method alone if the search for a route failed.
      let route = request.method
      try {
        const found = findRoute(context, own, request)
        if (!found) {
          context.setupProblems.checkPath(request, own.keys())
          return null
        }
        route = found.route
        return await found.serve()
      } catch (error) {
        if (isAgentAuthError(error)) return errorResponseOf(error)
        context.emit({ type: 'unexpected_error', route, cause: causeOf(error) })
        const message = 'The backend failed with an unexpected error. The event unexpected_error has its cause.'
        return errorResponse(500, { code: 'request_failed', message })
      }
    },
    serves: (method, pathname) => own.has(pathname) || matchRoute(context.routes, method, pathname) !== undefined,
    checkMount(mount) {
      const ownRoutes = [...own].map(([pathname, { method }]) => `${method} ${pathname}`)
      context.setupProblems.checkMount(mount, [...ownRoutes, ...context.routes.map(({ template }) => template)])
    },
    basePath,
    getSession: (source) => Object.defineProperties(getSession(context, source), unawaited),
    endSession: (key) => endSessionOfKey(context, key),
    endSessionsOf: (subject) => endSessionsOf(context, subject),
    endAll: () => endAll(context),
  })
}

const missingAwait: PropertyDescriptor = {
  get: () => invalid('getSession returns a promise. Write await before getSession'),
}

/** Without `await`, these would be undefined. `status` is left out, because `use()` of React keeps its own on each promise. */
const unawaited: PropertyDescriptorMap = {
  key: missingAwait,
  claims: missingAwait,
  fetch: missingAwait,
  getAccessToken: missingAwait,
}

interface OwnRoute {
  readonly method: string
  serve(request: Request): Promise<Response>
}

interface FoundRoute {
  /** Method and path as configured, so without the values of parameters. */
  readonly route: string
  serve(): Response | Promise<Response>
}

function findRoute(
  context: BackendContext,
  own: ReadonlyMap<string, OwnRoute>,
  request: Request,
): FoundRoute | undefined {
  const { pathname } = new URL(request.url)
  const found = own.get(pathname)
  if (found) {
    const { method, serve } = found
    const route = `${method} ${pathname}`
    return { route, serve: () => (method === request.method ? serve(request) : wrongMethod(method)) }
  }
  const match = matchRoute(context.routes, request.method, pathname)
  return match && { route: match.route.template, serve: () => proxy(context, match, request) }
}

/** Returns the response to a request with another method than that of the route. RFC 9110 section 15.5.6. */
function wrongMethod(method: string): Response {
  const response = errorResponse(405, {
    code: 'request_failed',
    message: `The method is not allowed for this route. Use ${method}.`,
  })
  response.headers.set('allow', method)
  return response
}
