import { isIPv4, isIPv6 } from 'node:net'
import type { Context } from 'hono'
import type { HttpEnvironment } from './environment.ts'
import { addressOf } from './environment.ts'

/**
 * The address of the client as the configured proxies tell it: each of them appends the address of its peer to
 * X-Forwarded-For, so that the client's own is as many places from the right as there are proxies. What stands left of it
 * is the client's to write (S-090). Undefined where all clients share one address as far as the service can see: without
 * configured proxies, or when the request did not come through all of them.
 */
export function clientAddressOf(c: Context<HttpEnvironment>): string | undefined {
  const { trustedProxies } = c.get('service').config
  if (trustedProxies === 0) return undefined
  const told = c.req.header('x-forwarded-for')?.split(',').at(-trustedProxies)
  return told === undefined ? undefined : addressGroup(told.trim())
}

/** The same, or the address of the connection. */
export function nearestAddressOf(c: Context<HttpEnvironment>): string {
  return clientAddressOf(c) ?? addressOf(c.env)
}

/** An IPv4 address, or the first 64 bits of an IPv6 address: one subscriber has all addresses behind them (RFC 6177). */
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
