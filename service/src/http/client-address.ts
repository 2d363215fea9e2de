import { isIPv4, isIPv6 } from 'node:net'
import type { Context } from 'hono'
import type { HttpEnvironment } from './hono-environment.ts'
import { addressOf } from './hono-environment.ts'

/**
 * Returns the address of the client from X-Forwarded-For. Each configured proxy appends the address of its peer, so the
 * client's address is as many places from the right as there are proxies; a client can write anything left of it (S-090).
 * Returns undefined without configured proxies, or if the request did not pass all of them: then all clients have one
 * address as far as the service can see.
 */
export function clientAddressOf(c: Context<HttpEnvironment>): string | undefined {
  const { trustedProxies } = c.get('service').config
  if (trustedProxies === 0) return undefined
  const forwarded = c.req.header('x-forwarded-for')?.split(',').at(-trustedProxies)
  return forwarded === undefined ? undefined : addressGroup(forwarded.trim())
}

/** Returns the address of the client, or that of the connection if it is not known. */
export function nearestAddressOf(c: Context<HttpEnvironment>): string {
  return clientAddressOf(c) ?? addressOf(c.env)
}

/** Returns an IPv4 address, or the first 64 bits of an IPv6 address, because one subscriber has all of the rest (RFC 6177). */
export function addressGroup(text: string): string | undefined {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare) || bare.includes('%')) return undefined
  // The URL parser writes every spelling of an address alike.
  const [left = '', right] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::')
  const [head, tail] = [left, right ?? ''].map((side) => side.split(':').filter((group) => group !== ''))
  const zeros = Array.from({ length: 8 - (head?.length ?? 0) - (tail?.length ?? 0) }, () => '0')
  const groups = [...(head ?? []), ...zeros, ...(tail ?? [])]
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') return mappedAddress(groups.slice(6))
  return `${groups.slice(0, 4).join(':')}::/64`
}

function mappedAddress(groups: string[]): string {
  const bytes = groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
  return bytes.join('.')
}
