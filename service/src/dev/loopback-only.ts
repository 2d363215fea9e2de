import type { MiddlewareHandler } from 'hono'
import { isFromThisMachine } from '../http/forwarded.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { ownOrigins } from '../http/middleware/host-guard.ts'

/**
 * Refuses, with 403, requests to `/_dev` of other machines, requests that a proxy forwarded, and pages of other origins. Without
 * the dev controls each path there is a 404 (`refuseDevControls` in dev-app.ts). The controls do not start with an origin or a
 * host beyond loopback (`refuseDev` in config.ts), nor by the command with `NODE_ENV=production` (cli/command.ts).
 */
export function loopbackOnly(authUrl: string): MiddlewareHandler<HttpEnvironment> {
  const origins = ownOrigins(authUrl)
  return async (c, next) => {
    // The responses hold passwords and secrets.
    c.header('Cache-Control', 'no-store')
    c.header('Cross-Origin-Resource-Policy', 'same-origin')
    const origin = c.req.header('origin')
    // The dev page sends no referrer, so its forms come from `null`. No other page can send same-origin.
    const isOwnPage = origin === 'null' && c.req.header('sec-fetch-site') === 'same-origin'
    const isForeign = origin !== undefined && !origins.has(origin) && !isOwnPage
    if (!isFromThisMachine(c) || isForeign) return c.json({ error: 'loopback only' }, 403)
    return next()
  }
}
