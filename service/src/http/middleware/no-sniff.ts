import type { MiddlewareHandler } from 'hono'
import type { HttpEnvironment } from '../hono-environment.ts'

/** Sends X-Content-Type-Options, so that no browser reads a response as another type than it is declared as (S-012). */
export function noSniff(): MiddlewareHandler<HttpEnvironment> {
  return (c, next) => {
    c.header('X-Content-Type-Options', 'nosniff')
    return next()
  }
}
