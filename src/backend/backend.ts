import { isAgentAuthError } from '../errors.ts'
import { invalid } from '../internal/values.ts'
import { type BackendContext, backendContext } from './context.ts'
import { headerReader } from './cookies.ts'
import { csrfHeader, isSameOrigin } from './csrf.ts'
import { causeOf } from './error-cause.ts'
import type { BackendOptions } from './options.ts'
import { matchRoute } from './proxy/allowed-routes.ts'
import { errorResponse, errorResponseOf } from './responses.ts'
import { callback } from './routes/callback.ts'
import { login } from './routes/login.ts'
import { logout } from './routes/logout.ts'
import { proxy } from './routes/proxy.ts'
import { session } from './routes/session.ts'
import { endAll, endSessionOfKey, endSessionsOf } from './sessions/end-session.ts'
import { type BackendSession, getSession, type SessionSource } from './sessions/get-session.ts'

/** Login, callback, session, logout and an API proxy for one app. */
export interface Backend {
  /**
   * Responds to requests for the routes of the backend, and resolves to null for all others. Call it for every request of the app: a
   * route such as `/auth/*` gets none of the paths in `proxy`. Rejects only with `config_invalid`, without a `Request` of the Fetch API.
   */
  handle(request: Request): Promise<Response | null>
  /** Returns whether `handle` responds to requests with this method and path, such as `/auth/login`. */
  serves(method: string, pathname: string): boolean
  /**
   * Returns whether a request of an own route of the app comes from a page of this origin, by `Sec-Fetch-Site` and `Origin`. Refuse all
   * others with 403 on routes that change something: the cookie alone does not stop sibling subdomains. Takes requests as `getSession` does.
   */
  isSameOrigin(request: { readonly headers: object }): boolean
  /** The path of the four routes. */
  readonly basePath: string
  /**
   * Returns the session of a request, or of a `key` that you saved for a background job. Refreshes nothing and sets no
   * cookie, so you can call it where headers are read-only. Takes the request objects of Node, Express and Fastify as well. Rejects with
   * `storage_failed` or `config_invalid`.
   */
  getSession(source: SessionSource): Promise<BackendSession>
  /**
   * Ends the session with this `key` of `getSession` in all processes and revokes its refresh token. Resolves to false, and does
   * nothing, if there is none. Rejects with `storage_failed` if the session may still be there, and with `config_invalid` for a
   * cookie and for what is no text.
   */
  endSession(key: string): Promise<boolean>
  /**
   * Ends the sessions of this user in all processes within two seconds. A storage cannot list sessions, so the refresh token of a
   * session is revoked, and its record removed, when it comes back with a request; `endSession` does both at once. `subject`: the
   * `sub` of the claims, not an email address. A sign-in after this call is valid at once. Has no effect on tokens that are no JWT.
   * Two machines whose clocks differ by a minute decide within that minute which sign-ins came before. Rejects with `storage_failed`
   * if some may still be there, and with `config_invalid`.
   */
  endSessionsOf(subject: string): Promise<void>
  /**
   * Ends all sessions of this client in all processes within two seconds, as `endSessionsOf` does. To revoke the refresh tokens of lost
   * devices at once, call `endSession` with the keys that your code keeps. Rejects with `storage_failed` if they may still be there.
   */
  endAll(): Promise<void>
}

/**
 * Creates a backend for a browser app. The browser holds an opaque cookie and never sees a token. Throws `config_invalid`.
 * OAuth 2.0 for Browser-Based Applications section 6.1.
 */
export function createBackend(options: BackendOptions): Backend {
  const context = backendContext(options)
  const { basePath, origin } = context
  const own = new Map([
    [`${basePath}/login`, { method: 'GET', serve: login }],
    [`${basePath}/callback`, { method: 'GET', serve: callback }],
    [`${basePath}/session`, { method: 'GET', serve: session }],
    [`${basePath}/logout`, { method: 'POST', serve: logout }],
  ])
  return Object.freeze<Backend>({
    async handle(request) {
      if (typeof request?.headers?.get !== 'function')
        invalid(
          'handle needs a Request of the Fetch API. For node:http, Express and Fastify, use agent-auth/backend/node',
        )
      // The method and path as configured, so without the values of parameters: the method alone if the search for a route failed.
      let route = request.method
      try {
        const { pathname } = new URL(request.url)
        const found = own.get(pathname)
        if (found) {
          route = `${found.method} ${pathname}`
          return found.method === request.method ? await found.serve(context, request) : wrongMethod(found.method)
        }
        const match = matchRoute(context.routes, request.method, pathname)
        if (match) {
          route = match.route.template
          return await proxy(context, match, request)
        }
        checkPath(context, request, own.keys())
        return null
      } catch (error) {
        if (isAgentAuthError(error)) return errorResponseOf(error)
        context.emit({ type: 'unexpected_error', route, cause: causeOf(error) })
        const message = 'The backend failed with an unexpected error. The event unexpected_error has its cause.'
        return errorResponse(500, { code: 'request_failed', message })
      }
    },
    serves: (method, pathname) => own.has(pathname) || matchRoute(context.routes, method, pathname) !== undefined,
    isSameOrigin: ({ headers }) => isSameOrigin({ headers: headerReader(headers) }, origin),
    basePath,
    getSession: (source) => getSession(context, source),
    endSession: (key) => endSessionOfKey(context, key),
    endSessionsOf: (subject) => endSessionsOf(context, subject),
    endAll: () => endAll(context),
  })
}

/** Returns the response to a request with another method than that of the route. RFC 9110 section 15.5.6. */
function wrongMethod(method: string): Response {
  const message = `The method is not allowed for this route. Use ${method}.`
  const response = errorResponse(405, { code: 'request_failed', message })
  response.headers.set('allow', method)
  return response
}

/** Reports a request that is meant for the backend, but comes without the beginning of its path. */
function checkPath({ reportSetup }: BackendContext, request: Request, paths: Iterable<string>): void {
  const { pathname, searchParams } = new URL(request.url)
  // A page of the app may have the same path, such as `/login`. Only a request for the backend has one of these marks.
  const isMarked = ['return_to', 'state'].some((name) => searchParams.has(name)) || request.headers.has(csrfHeader)
  const meant = isMarked && [...paths].find((path) => path.endsWith(pathname))
  if (meant)
    reportSetup(
      'path',
      `${pathname} was requested, but the backend serves ${meant}. Pass the whole path on, or use toNodeHandler.`,
    )
}
