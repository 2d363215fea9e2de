import { isIPv4, isIPv6 } from 'node:net'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { requestLimits } from '../limits.ts'
import type { HttpEnvironment, NodeBindings } from './hono-environment.ts'

/** Writes a number of bytes for a message. */
export function inMebibytes(bytes: number): string {
  return `${bytes / (1_024 * 1_024)} MiB`
}

type BytesBody = { kind: 'bytes'; bytes: Uint8Array } | { kind: 'too_large' }
type TextBody = { kind: 'text'; text: string } | { kind: 'too_large' } | { kind: 'not_utf8' }

/** The client went away before its body was complete. It gets no response; the journal says 499. */
export class BrokenOffError extends Error {}

/** Reads a text up to a size. */
export async function readAtMost(request: Request, maxBytes: number): Promise<TextBody> {
  const body = await readBytesAtMost(request, maxBytes)
  return body.kind === 'bytes' ? decodeText(body.bytes) : body
}

/** Reads a body up to a size. Content-Length alone decides nothing, because a client may send more than it declares. */
export async function readBytesAtMost(request: Request, maxBytes: number): Promise<BytesBody> {
  const declared = request.headers.get('content-length')
  if (Number(declared ?? 0) > maxBytes) return { kind: 'too_large' }
  try {
    if (declared === null) return await readStream(request, maxBytes)
    // A server's parser ends the body at its declared length, so it needs no stream to count it.
    const bytes = new Uint8Array(await request.arrayBuffer())
    return bytes.byteLength > maxBytes ? { kind: 'too_large' } : { kind: 'bytes', bytes }
  } catch (cause) {
    throw new BrokenOffError('the body ended early', { cause })
  }
}

async function readStream({ body }: Request, maxBytes: number): Promise<BytesBody> {
  if (body === null) return { kind: 'bytes', bytes: new Uint8Array() }
  const reader = body.getReader()
  // One buffer instead of a list, because a list of chunks of one byte takes 160 times their size.
  let bytes = Buffer.alloc(0)
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const end = size + value.byteLength
    if (end > maxBytes) {
      await reader.cancel()
      return { kind: 'too_large' }
    }
    if (end > bytes.length) bytes = Buffer.concat([bytes], Math.max(end, Math.min(2 * end, maxBytes)))
    bytes.set(value, size)
    size = end
  }
  return { kind: 'bytes', bytes: bytes.subarray(0, size) }
}

// A byte order mark is kept, because it is not JSON and the parser must refuse it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function decodeText(bytes: Uint8Array): Exclude<TextBody, { kind: 'too_large' }> {
  try {
    return { kind: 'text', text: utf8.decode(bytes) }
  } catch {
    return { kind: 'not_utf8' }
  }
}

/** Returns whether the body is declared as `type`, in UTF-8 and not compressed. */
export function hasMediaType(headers: Headers, type: string): boolean {
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity') return false
  const [essence, ...parameters] = (headers.get('content-type') ?? '').split(';').map((part) => part.trim())
  if (essence?.toLowerCase() !== type) return false
  return parameters.every((parameter) => {
    const [name, value = ''] = parameter.split('=')
    return name?.toLowerCase() !== 'charset' || /^"?utf-?8"?$/i.test(value)
  })
}

/** Returns a field that was sent once, or undefined if it is absent or empty. */
export type Fields = (name: string) => string | undefined
type FormFields = { kind: 'fields'; get: Fields } | { kind: 'repeated'; field: string }

/** Reads a form in which each field appears once. An empty field counts as absent. */
export function parseForm(text: string): FormFields {
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) return { kind: 'repeated', field: name }
    fields.set(name, value)
  }
  return { kind: 'fields', get: (name) => fields.get(name) || undefined }
}

/** Returns the members of a JSON object, or undefined for any other text. */
export function jsonMembers(text: string): Map<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? new Map(Object.entries(value)) : undefined
  } catch {
    return undefined
  }
}

/** One value of a query, as text and as percent-encoded bytes. */
interface QueryValue {
  text: string
  encoded: string
  bytes: number
}

export interface Query {
  /** Returns the value of a parameter. An empty one counts as absent. */
  get(name: string): QueryValue | undefined
  count(name: string): number
  /** False if there are more than `maxParameters`. The others were not read then. */
  readonly isComplete: boolean
}

const maxParameters = requestLimits.queryParameters

/**
 * Reads the raw query, because URLSearchParams loses bytes that are not UTF-8 and `state` returns
 * unchanged.
 */
export function parseQuery(url: string): Query {
  const start = url.indexOf('?')
  const raw = start === -1 ? '' : (url.slice(start + 1).split('#')[0] ?? '')
  const values = new Map<string, QueryValue[]>()
  const pairs = raw.split('&', maxParameters + 1)
  for (const pair of pairs.slice(0, maxParameters)) {
    if (pair === '') continue
    const split = pair.indexOf('=')
    const name = queryValue(split === -1 ? pair : pair.slice(0, split)).text
    const value = queryValue(split === -1 ? '' : pair.slice(split + 1))
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  return {
    get: (name) => values.get(name)?.find((value) => value.bytes > 0),
    count: (name) => values.get(name)?.length ?? 0,
    isComplete: pairs.length <= maxParameters,
  }
}

function queryValue(encoded: string): QueryValue {
  // Unreserved characters need no decoding and encode to themselves.
  if (/^[A-Za-z0-9\-._~]*$/.test(encoded)) return { text: encoded, encoded, bytes: encoded.length }
  const bytes = decodeBytes(encoded)
  return { text: bytes.toString('utf8'), encoded: encodeBytes(bytes), bytes: bytes.length }
}

function decodeBytes(encoded: string): Buffer {
  const latin1 = Buffer.from(encoded.replaceAll('+', ' '), 'utf8')
    .toString('latin1')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(latin1, 'latin1')
}

function encodeBytes(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/[^A-Za-z0-9\-._~]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}

/** Returns a JSON response that no cache stores. */
export function jsonResponse(
  c: Context<HttpEnvironment>,
  value: unknown,
  status: ContentfulStatusCode = 200,
): Response {
  return jsonTextResponse(c, JSON.stringify(value), status)
}

/** Returns the same for text that is JSON already. */
export function jsonTextResponse(
  c: Context<HttpEnvironment>,
  text: string,
  status: ContentfulStatusCode = 200,
): Response {
  return c.body(text, status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
  })
}

/** Returns the address of the connection, which behind a proxy is the proxy's. */
function addressOf(env: Partial<NodeBindings> | undefined): string {
  return env?.incoming?.socket.remoteAddress ?? 'in-process'
}

/**
 * Returns the address of the client from X-Forwarded-For. Each configured proxy appends the address of its peer, so the
 * client's address is as many places from the right as there are proxies; a client can write anything left of it.
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
function isForwarded(c: Context<HttpEnvironment>): boolean {
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
