import type { MiddlewareHandler } from 'hono'
import type { HttpEnvironment } from '../hono-environment.ts'

const yearS = 365 * 24 * 60 * 60

/** Sends Strict-Transport-Security on https (S-082, RFC 6797). Browsers ignore it on plain http. */
export function strictTransport(origin: string): MiddlewareHandler<HttpEnvironment> {
  if (!origin.startsWith('https:')) return (_c, next) => next()
  return async (c, next) => {
    await next()
    c.res.headers.set('Strict-Transport-Security', `max-age=${yearS}`)
  }
}
