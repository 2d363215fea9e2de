import type { Context } from 'hono'
import type { HttpEnvironment } from './hono-environment.ts'
import { addressOf } from './hono-environment.ts'

/** Headers that proxies add. */
const forwarding: readonly RegExp[] = [
  // RFC 7239, 9110 and 8586, and what most proxies add.
  /^(?:forwarded|via|cdn-loop|front-end-https|x-(?:forwarded|original)(?:-.+)?|x-(?:url-)?scheme)$/,
  // The address of the client, under the names that many products give it.
  /(?:^|-)(?:client|real|remote|user|proxyuser|connecting|client-connection)-?(?:ip(?:v6)?|addr(?:ess)?)$/,
  // Envoy, Azure, AWS, Google, IIS, Vercel, Akamai, Cloudflare, Fastly, Tailscale, Varnish.
  /^(?:x-(?:envoy|azure|amz-cf|appengine|arr|vercel|akamai)|cf|fastly|tailscale)-.+$/,
  /^(?:x-amzn-trace-id|x-cloud-trace-context|x-varnish)$/,
]

/** Returns whether a proxy forwarded the request, so that it may have come from any machine. */
export function isForwarded(c: Context<HttpEnvironment>): boolean {
  return headerNamesOf(c).some((name) => forwarding.some((pattern) => pattern.test(name)))
}

/** Reads the names from Node's request if there is one. Listing the names of its `Headers` would copy and sort all of them. */
function headerNamesOf(c: Context<HttpEnvironment>): string[] {
  const incoming = c.env?.incoming
  return incoming === undefined ? [...c.req.raw.headers.keys()] : Object.keys(incoming.headers)
}

/** Returns whether the request came from this machine, as far as address and headers tell. */
export function isFromThisMachine(c: Context<HttpEnvironment>): boolean {
  return /^(::ffff:)?127\.|^::1$|^in-process$/.test(addressOf(c.env)) && !isForwarded(c)
}
