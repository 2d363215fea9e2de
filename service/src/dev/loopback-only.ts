import type { MiddlewareHandler } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import { addressOf } from '../http/environment.ts'
import { ownOrigins } from '../http/host-guard.ts'

/** Proxies add these. A request that was forwarded may have come from any machine. */
const forwarding =
  /^(?:forwarded|via|x-forwarded(?:-.+)?|x-real-ip|(?:x-|x-cluster-|true-|fastly-)client-ip|(?:cf|do)-connecting-ip|x-original-.+)$/

/** Refuses requests of other machines, requests that a proxy forwarded, and pages of other origins. */
export function loopbackOnly(authUrl: string): MiddlewareHandler<HttpEnvironment> {
  const origins = ownOrigins(authUrl)
  return async (c, next) => {
    const address = addressOf(c.env)
    const isLoopback = /^(::ffff:)?127\.|^::1$|^in-process$/.test(address)
    const origin = c.req.header('origin')
    // Our own page sends no referrer, so its forms come from `null`; no other page can claim same-origin.
    const isOwnPage = origin === 'null' && c.req.header('sec-fetch-site') === 'same-origin'
    const isForeign = origin !== undefined && !origins.has(origin) && !isOwnPage
    const isForwarded = [...c.req.raw.headers.keys()].some((name) => forwarding.test(name))
    if (!isLoopback || isForwarded || isForeign) return c.json({ error: 'loopback only' }, 403)
    c.header('Cache-Control', 'no-store')
    return next()
  }
}
