import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import type { HttpEnvironment } from '../hono-environment.ts'

const header = 'X-Request-Id'
const wellFormed = /^[\w.-]{8,64}$/

/**
 * Gives each request an id, which the response and the log name. The id of the request itself counts only if proxies are
 * trusted, because any other client could write text of its choice, such as a secret, into the log.
 */
export function requestId(trustedProxies: number): MiddlewareHandler<HttpEnvironment> {
  return (c, next) => {
    const sent = trustedProxies === 0 ? undefined : c.req.header(header)
    const id = sent !== undefined && wellFormed.test(sent) ? sent : randomUUID()
    c.set('requestId', id)
    c.header(header, id)
    return next()
  }
}
