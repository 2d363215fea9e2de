import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import type { ServiceContext } from '../../context.ts'
import type { HttpEnvironment } from '../hono-environment.ts'

const idHeader = 'X-Request-Id'
const wellFormedId = /^[\w.-]{8,64}$/
const yearS = 365 * 24 * 60 * 60

/**
 * Gives each request its service and an id, and each response the headers that all have: the id, X-Content-Type-Options, and on https
 * Strict-Transport-Security. The id that the request has counts only if proxies are trusted, because any other client could write text of
 * its choice, such as a secret, into the log.
 */
export function responseHeaders(service: ServiceContext, origin: string): MiddlewareHandler<HttpEnvironment> {
  const { trustedProxies } = service.config
  return async (c, next) => {
    const sent = trustedProxies === 0 ? undefined : c.req.header(idHeader)
    const id = sent !== undefined && wellFormedId.test(sent) ? sent : randomUUID()
    c.set('service', service)
    c.set('requestId', id)
    c.header(idHeader, id)
    c.header('X-Content-Type-Options', 'nosniff')
    await next()
    if (origin.startsWith('https:')) c.res.headers.set('Strict-Transport-Security', `max-age=${yearS}`)
  }
}
