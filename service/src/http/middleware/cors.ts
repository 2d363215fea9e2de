import type { Context, MiddlewareHandler } from 'hono'
import { serverLimits } from '../../limits.ts'
import { isRegisteredOrigin } from '../../store/tables/clients.ts'
import type { HttpEnvironment } from '../hono-environment.ts'

/**
 * Lets pages read responses, errors included, if `allowedOrigins` has their origin or a redirect URI of it is registered: of the
 * token's own client once that is known, of any client in a preflight and before. Without the headers a page sees a network
 * failure instead of a 401 (S-045, S-080, A-12). It never sends `*`, which does not cover Authorization,
 * and never allows cookies. A browser keeps a preflight for `preflightMs`, 10 minutes.
 */
export function cors(methods: string): MiddlewareHandler<HttpEnvironment> {
  return async (c, next) => {
    if (c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined) {
      return preflight(c, methods)
    }
    await next()
    c.res.headers.append('Vary', 'Origin')
    const origin = c.req.header('origin')
    if (origin === undefined || !(await mayRead(c, origin))) return
    c.res.headers.set('Access-Control-Allow-Origin', origin)
    c.res.headers.set('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After, X-Request-Id')
  }
}

async function preflight(c: Context<HttpEnvironment>, methods: string): Promise<Response> {
  const headers = new Headers({ Vary: 'Origin', 'Cache-Control': 'no-store' })
  const origin = c.req.header('origin')
  if (origin !== undefined && (await isKnownOrigin(c, origin))) {
    headers.set('Access-Control-Allow-Origin', origin)
    headers.set('Access-Control-Allow-Methods', methods)
    headers.set('Access-Control-Allow-Headers', 'authorization, content-type')
    headers.set('Access-Control-Max-Age', String(serverLimits.preflightMs / 1_000))
  }
  return c.newResponse(null, { status: 204, headers })
}

function mayRead(c: Context<HttpEnvironment>, origin: string): Promise<boolean> {
  return isAllowed(c, origin, c.get('clientId'))
}

/** Returns whether the login of some client may end at a page of this origin. */
export function isKnownOrigin(c: Context<HttpEnvironment>, origin: string): Promise<boolean> {
  return isAllowed(c, origin)
}

async function isAllowed(c: Context<HttpEnvironment>, origin: string, clientId?: string): Promise<boolean> {
  const { config, store } = c.get('service')
  return config.allowedOrigins.includes(origin) || isRegisteredOrigin(store.db, origin, clientId)
}
