import type { Context, MiddlewareHandler } from 'hono'
import { loopbackHosts } from '../../loopback.ts'
import type { HttpEnvironment } from '../environment.ts'

/** Returns the values of Host that name this origin: its own and, on loopback, the other spellings (S-083). */
export function ownHosts(origin: string): Set<string> {
  const url = new URL(origin)
  const hasOtherSpellings = loopbackHosts.includes(url.hostname)
  const suffix = url.port === '' ? '' : `:${url.port}`
  return new Set(hasOtherSpellings ? loopbackHosts.map((host) => host + suffix) : [url.host])
}

/** Refuses any other Host with 421. This is the protection from DNS rebinding. `names` count on every port. */
export function hostGuard(
  { origin, names }: { origin: string; names: readonly string[] },
  refuse: (c: Context<HttpEnvironment>, problem: string) => Response,
): MiddlewareHandler<HttpEnvironment> {
  const hosts = ownHosts(origin)
  return async (c, next) => {
    const host = c.req.header('host') ?? new URL(c.req.url).host
    const isServed = hosts.has(host.toLowerCase()) || names.includes(host.toLowerCase().replace(/:\d+$/, ''))
    return isServed ? next() : refuse(c, 'this host is not served here')
  }
}

/** Returns the origins of this host, with the other spellings of loopback. */
export function ownOrigins(origin: string): Set<string> {
  return new Set([...ownHosts(origin)].map((host) => `${new URL(origin).protocol}//${host}`))
}
