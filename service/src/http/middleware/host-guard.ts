import { isIP } from 'node:net'
import type { Context, MiddlewareHandler } from 'hono'
import { loopbackHosts } from '../../loopback.ts'
import type { HttpEnvironment } from '../hono-environment.ts'

/** Returns the values of Host that name this origin: its own and, on loopback, the other spellings (S-083). */
export function ownHosts(origin: string): Set<string> {
  const url = new URL(origin)
  const hasOtherSpellings = loopbackHosts.includes(url.hostname)
  const suffix = url.port === '' ? '' : `:${url.port}`
  return new Set(hasOtherSpellings ? loopbackHosts.map((host) => host + suffix) : [url.host])
}

interface Served {
  origin: string
  /** Further host names, which count on every port. */
  names: readonly string[]
  /** `any` serves a Host that is an IP address, because only a name can be rebound. Default: `own`. */
  addresses?: 'own' | 'any'
}

/** Refuses each Host that is not served with 421. This is the protection from DNS rebinding. */
export function hostGuard(
  { origin, names, addresses = 'own' }: Served,
  refuse: (c: Context<HttpEnvironment>, problem: string) => Response,
): MiddlewareHandler<HttpEnvironment> {
  const hosts = ownHosts(origin)
  return async (c, next) => {
    const host = (c.req.header('host') ?? new URL(c.req.url).host).toLowerCase()
    const name = host.replace(/:\d+$/, '')
    const isAddress = addresses === 'any' && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
    return hosts.has(host) || names.includes(name) || isAddress ? next() : refuse(c, 'this host is not served here')
  }
}

/** Returns the origins of this host, with the other spellings of loopback. */
export function ownOrigins(origin: string): Set<string> {
  return new Set([...ownHosts(origin)].map((host) => `${new URL(origin).protocol}//${host}`))
}
