import type { Context, MiddlewareHandler } from 'hono'
import { findClientOrigins, findEveryOrigin } from '../store/clients.ts'
import type { HttpEnvironment } from './environment.ts'

/**
 * Lets the origins of registered redirect URIs read answers, errors included: without the headers a page sees a
 * network failure instead of a 401 (S-045, S-080). Never `*`, which does not cover Authorization.
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
    c.res.headers.set('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After')
  }
}

async function preflight(c: Context<HttpEnvironment>, methods: string): Promise<Response> {
  const headers = new Headers({ Vary: 'Origin', 'Cache-Control': 'no-store' })
  const origin = c.req.header('origin')
  if (origin !== undefined && (await isKnownOrigin(c, origin))) {
    headers.set('Access-Control-Allow-Origin', origin)
    headers.set('Access-Control-Allow-Methods', methods)
    headers.set('Access-Control-Allow-Headers', 'authorization, content-type')
    headers.set('Access-Control-Max-Age', '600')
  }
  return new Response(null, { status: 204, headers })
}

async function mayRead(c: Context<HttpEnvironment>, origin: string): Promise<boolean> {
  const { config, store } = c.get('service')
  const clientId = c.get('clientId')
  if (clientId === undefined) return isKnownOrigin(c, origin)
  return config.allowedOrigins.includes(origin) || (await findClientOrigins(store.db, clientId)).has(origin)
}

/** Registered for some client. */
export async function isKnownOrigin(c: Context<HttpEnvironment>, origin: string): Promise<boolean> {
  const { config, store } = c.get('service')
  return config.allowedOrigins.includes(origin) || (await findEveryOrigin(store.db)).has(origin)
}
