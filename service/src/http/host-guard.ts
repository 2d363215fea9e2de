import type { Context, MiddlewareHandler } from 'hono'
import { loopbackHosts } from '../loopback.ts'
import type { HttpEnvironment } from './environment.ts'

/** The values of Host that name this origin: itself and, on loopback, its other spellings (S-083). */
export function ownHosts(origin: string): Set<string> {
  const url = new URL(origin)
  const hasOtherSpellings = loopbackHosts.includes(url.hostname)
  const suffix = url.port === '' ? '' : `:${url.port}`
  return new Set(hasOtherSpellings ? loopbackHosts.map((host) => host + suffix) : [url.host])
}

/** Refuses a foreign Host (421, A-13), because that is how a page reaches a loopback server by DNS rebinding. */
export function hostGuard(
  origin: string,
  refuse: (c: Context<HttpEnvironment>, problem: string) => Response,
): MiddlewareHandler<HttpEnvironment> {
  const hosts = ownHosts(origin)
  return async (c, next) => {
    const host = c.req.header('host') ?? new URL(c.req.url).host
    return hosts.has(host.toLowerCase()) ? next() : refuse(c, 'this host is not served here')
  }
}

/**
 * Whether a form was posted from one of our own pages. They send no referrer, so the browser says `Origin: null`; then
 * Sec-Fetch-Site tells a page of ours from a sandboxed frame. The form's single-use token is checked besides.
 */
export function isOwnForm(c: Context<HttpEnvironment>, authUrl: string): boolean {
  const site = c.req.header('sec-fetch-site') ?? 'same-origin'
  const origin = c.req.header('origin') ?? 'null'
  if (site !== 'same-origin' && site !== 'none') return false
  return origin === 'null' || ownOrigins(authUrl).has(origin)
}

export function ownOrigins(origin: string): Set<string> {
  return new Set([...ownHosts(origin)].map((host) => `${new URL(origin).protocol}//${host}`))
}
