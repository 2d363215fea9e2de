import { isAgentAuthError } from '../errors.ts'
import { failed, failedWith } from './answers.ts'
import { callback, type Logins } from './callback.ts'
import { type BackendSession, getSession, type SessionSource } from './get-session.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { type BackendContext, type BackendOptions, backendContext } from './options.ts'
import { matchRoute } from './proxy/routes.ts'
import { proxy } from './proxy.ts'
import { session } from './session-route.ts'

/** Login, callback, session, logout and the way to the API, for one app. */
export interface Backend {
  /** Answers what is served here and resolves to null for everything else; never rejects. */
  handle(request: Request): Promise<Response | null>
  /**
   * Whose request this is, for server code, or the session of a `key` that was kept for work without a request. Sends
   * nothing and sets no cookie, so that it may be used where only reading is allowed. Rejects with `storage_failed`.
   */
  getSession(source: SessionSource): Promise<BackendSession>
}

/**
 * A backend for a browser app: the browser holds an opaque cookie and never sees a token. Throws `config_invalid`.
 * OAuth 2.0 for Browser-Based Applications section 6.1.
 */
export function createBackend(options: BackendOptions): Backend {
  const context = backendContext(options)
  const { basePath } = context
  const logins: Logins = new Map()
  const own = new Map<string, [method: string, serve: (request: Request) => Promise<Response>]>([
    [`${basePath}/login`, ['GET', (request) => login(context, request)]],
    [`${basePath}/callback`, ['GET', (request) => callback(context, logins, request)]],
    [`${basePath}/session`, ['GET', (request) => session(context, request)]],
    [`${basePath}/logout`, ['POST', (request) => logout(context, request)]],
  ])
  return Object.freeze<Backend>({
    async handle(request) {
      try {
        return await route(context, own, request)
      } catch (error) {
        if (isAgentAuthError(error)) return failedWith(error)
        return failed(500, { code: 'request_failed', message: 'Something went wrong here.' })
      }
    },
    getSession: (source) => getSession(context, source),
  })
}

async function route(
  context: BackendContext,
  own: ReadonlyMap<string, [method: string, serve: (request: Request) => Promise<Response>]>,
  request: Request,
): Promise<Response | null> {
  const { pathname } = new URL(request.url)
  const [method, serve] = own.get(pathname) ?? []
  if (serve && method === request.method) return serve(request)
  if (method) return wrongMethod(method)
  const match = matchRoute(context.routes, request.method, pathname)
  return match ? proxy(context, match, request) : null
}

/** RFC 9110 section 15.5.6. */
function wrongMethod(method: string): Response {
  const response = failed(405, { code: 'request_failed', message: `Use ${method}.` })
  response.headers.set('allow', method)
  return response
}
