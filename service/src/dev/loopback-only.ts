import type { MiddlewareHandler } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import { addressOf } from '../http/environment.ts'
import { ownOrigins } from '../http/middleware/host-guard.ts'

/** Headers that proxies add. A request that was forwarded may have come from any machine. */
const forwarding: readonly RegExp[] = [
  // RFC 7239, 9110 and 8586, and what most proxies add.
  /^(?:forwarded|via|cdn-loop|front-end-https|x-(?:forwarded|original)(?:-.+)?|x-(?:url-)?scheme)$/,
  // The address of the client, under the names that many products give it.
  /(?:^|-)(?:client|real|remote|user|proxyuser|connecting|client-connection)-?(?:ip(?:v6)?|addr(?:ess)?)$/,
  // Envoy, Azure, AWS, Google, IIS, Vercel, Akamai, Cloudflare, Fastly, Tailscale, Varnish.
  /^(?:x-(?:envoy|azure|amz-cf|appengine|arr|vercel|akamai)|cf|fastly|tailscale)-.+$/,
  /^(?:x-amzn-trace-id|x-cloud-trace-context|x-varnish)$/,
]

/** Refuses requests of other machines, requests that a proxy forwarded, and pages of other origins. */
export function loopbackOnly(authUrl: string): MiddlewareHandler<HttpEnvironment> {
  const origins = ownOrigins(authUrl)
  return async (c, next) => {
    // The responses hold passwords and secrets.
    c.header('Cache-Control', 'no-store')
    c.header('Cross-Origin-Resource-Policy', 'same-origin')
    const address = addressOf(c.env)
    const isLoopback = /^(::ffff:)?127\.|^::1$|^in-process$/.test(address)
    const origin = c.req.header('origin')
    // The dev page sends no referrer, so its forms come from `null`. No other page can send same-origin.
    const isOwnPage = origin === 'null' && c.req.header('sec-fetch-site') === 'same-origin'
    const isForeign = origin !== undefined && !origins.has(origin) && !isOwnPage
    const isForwarded = [...c.req.raw.headers.keys()].some((name) => forwarding.some((pattern) => pattern.test(name)))
    if (!isLoopback || isForwarded || isForeign) return c.json({ error: 'loopback only' }, 403)
    return next()
  }
}
