import { invalid } from '../../config/invalid.ts'
import { checkedElsewhere, checkOptions } from '../../config/options.ts'
import { guardHeader } from '../fetch-metadata.ts'

/** What a page may say to the API: about the content and how it wants it, and who traces the call. */
export const passedToApi: readonly string[] = [
  'accept',
  'accept-language',
  'content-digest',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-range',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-event-id',
  'prefer',
  'range',
  'repr-digest',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-correlation-id',
  'x-request-id',
]

/** What the API may say to a page: about the content, and when to call again. */
export const passedToBrowser: readonly string[] = [
  'accept-ranges',
  'allow',
  'content-digest',
  'content-disposition',
  'content-language',
  'content-range',
  'content-type',
  'deprecation',
  'etag',
  'last-modified',
  'preference-applied',
  'ratelimit',
  'ratelimit-limit',
  'ratelimit-policy',
  'ratelimit-remaining',
  'ratelimit-reset',
  'repr-digest',
  'retry-after',
  'sunset',
  'vary',
  'www-authenticate',
  'x-correlation-id',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
]

/** About one connection. RFC 9110 section 7.6.1. */
const hopByHop =
  /^(connection|keep-alive|proxy(-.*)?|te|trailer|transfer-encoding|upgrade|content-length|http2-settings)$/
/** Credentials, and what only a server may say about who asks and how they came here. */
const neverToApi =
  /^(authorization|cookie2?|host|forwarded|x-forwarded.*|x-real-ip|.*client-ip|cf-connecting-ip|x-original-.*|x-rewrite-.*|x-(http-)?method.*|via|expect|origin|referer|sec-.*|access-control-.*|accept-encoding)$/
/** What would act on this app's origin, on the server before it or on a cache, and what this backend sets itself. */
const neverToBrowser =
  /^(set-cookie2?|access-control-.*|content-encoding|clear-site-data|strict-transport-security|alt-svc|refresh|service-worker-allowed|server-timing|location|nel|report-to|reporting-endpoints|set-login|accept-ch|x-accel-.*|x-sendfile|(.*-)?cdn-cache-control|surrogate-control|edge-control|cache-control|expires|age|x-content-type-options|cross-origin-.*|referrer-policy)$/

/** Names of headers that are passed in addition to those of the lists here. */
export interface ProxyHeaderNames {
  /** From a page to the API. */
  readonly request?: readonly string[] | undefined
  /** From the API to a page. */
  readonly response?: readonly string[] | undefined
}

/** The names that pass, in lower case. */
export interface PassedHeaders {
  readonly toApi: ReadonlySet<string>
  readonly toBrowser: ReadonlySet<string>
}

/** Throws `config_invalid` for names that are none or must not pass. */
export function passedHeaders(names: ProxyHeaderNames): PassedHeaders {
  checkOptions('proxyHeaders', names, { request: checkedElsewhere, response: checkedElsewhere })
  const { request, response } = names
  return {
    toApi: new Set([...passedToApi, ...checkedNames('request', request, neverToApi)]),
    toBrowser: new Set([...passedToBrowser, ...checkedNames('response', response, neverToBrowser)]),
  }
}

function checkedNames(direction: 'request' | 'response', names: unknown = [], never: RegExp): string[] {
  const option = `proxyHeaders.${direction}`
  if (!Array.isArray(names)) invalid(`${option} must be a list of header names`)
  return names.map((name: unknown) => {
    if (typeof name !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
      invalid(`${option} must be a list of header names`)
    const lower = name.toLowerCase()
    // Some servers take the two for one.
    const read = lower.replaceAll('_', '-')
    if (hopByHop.test(read) || never.test(read) || read === guardHeader)
      invalid(`${option} must not hold credentials, cookies, forwarding or connection fields: see docs/backend.md`)
    return lower
  })
}

/** The content codings that `fetch` decodes. Fetch standard, section 5.6. */
const decodable: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br'])

const maxHeaderBytes = 16_384

/** Fields in the form that `fetch` and `Response` take: making `Headers` of them is theirs to do, once. */
export type Fields = [name: string, value: string][]

/** The headers of a request as the API may see them; undefined when they are too large. */
export function requestHeaders(headers: Headers, passed: PassedHeaders): Fields | undefined {
  let size = 0
  for (const [name, value] of headers) size += name.length + value.length + 4
  if (size > maxHeaderBytes) return undefined
  const kept = filtered(headers, passed.toApi)
  // The body is passed on as it comes: nothing here has to unpack it.
  kept.push(['accept-encoding', 'identity'])
  return kept
}

/** The headers of an answer as the browser may see them. */
export function responseHeaders(headers: Headers, passed: PassedHeaders): Fields {
  const kept = filtered(headers, passed.toBrowser).filter(
    ([name, value]) => name !== 'www-authenticate' || !prompts(value),
  )
  const length = headers.get('content-length')
  if (length !== null && !headers.has('content-encoding') && /^\d+$/.test(length)) kept.push(['content-length', length])
  return kept
}

/**
 * Returns whether a body is plain: it has no coding, or `fetch` has decoded it. An empty list element is no coding (RFC 9110
 * section 5.6.1), but `fetch` decodes nothing if the list has one or has `identity`.
 */
export function isDecoded(headers: Headers): boolean {
  const codings = (headers.get('content-encoding') ?? '').toLowerCase().split(',')
  const names = codings.map((coding) => coding.trim())
  return names.every((name) => name === '' || name === 'identity') || names.every((name) => decodable.has(name))
}

/** A password prompt of the browser would be for this app, in the API's name. */
function prompts(challenge: string): boolean {
  return /\b(basic|digest|negotiate|ntlm)\b/i.test(challenge)
}

function filtered(headers: Headers, passed: ReadonlySet<string>): Fields {
  const named = new Set((headers.get('connection') ?? '').toLowerCase().split(/[\s,]+/))
  return [...headers].filter(([name]) => passed.has(name) && !named.has(name))
}
