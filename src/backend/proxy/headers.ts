import { checkNames, invalid } from '../../internal/values.ts'
import { csrfHeader } from '../csrf.ts'

/** The headers that pass from a page to the API: about the content, its negotiation and tracing. */
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

/** The headers that pass from the API to a page: about the content, and when to call again. */
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

/** Headers about one connection (RFC 9110 section 7.6.1), and `content-length`, which depends on the body that is sent. */
const hopByHop =
  /^(connection|keep-alive|proxy(-.*)?|te|trailer|transfer-encoding|upgrade|content-length|http2-settings)$/
/**
 * Headers with credentials; headers by which a server describes the client and its route; method overrides; what a browser says of the
 * page that asks, such as `origin` and `sec-*`; and `expect`. The proxy sets `accept-encoding` itself.
 */
const neverToApi =
  /^(authorization|cookie2?|host|forwarded|x-forwarded.*|x-real-ip|.*client-ip|cf-connecting-ip|x-original-.*|x-rewrite-.*|x-(http-)?method.*|via|expect|origin|referer|sec-.*|access-control-.*|accept-encoding)$/
/** Headers that act on the app's origin, on a server before it or on a cache, and those that the backend sets itself. */
const neverToBrowser =
  /^(set-cookie2?|access-control-.*|content-encoding|clear-site-data|strict-transport-security|alt-svc|refresh|service-worker-allowed|server-timing|location|nel|report-to|reporting-endpoints|set-login|accept-ch|x-accel-.*|x-sendfile|(.*-)?cdn-cache-control|surrogate-control|edge-control|cache-control|expires|age|x-content-type-options|cross-origin-.*|referrer-policy)$/

/** Names of headers that pass the proxy in addition to those of the two lists. */
export interface ProxyHeaderNames {
  /** Pass from a page to the API. Default: none. */
  readonly request?: readonly string[] | undefined
  /** Pass from the API to a page. Default: none. */
  readonly response?: readonly string[] | undefined
}

/** The names of the headers that pass, in lower case. */
export type PassedHeaders = ReturnType<typeof passedHeaders>

/** Returns all names that pass. Throws `config_invalid` for a text that is no name, and for names that must not pass. */
export function passedHeaders(names: ProxyHeaderNames) {
  const { request, response } = checkNames('proxyHeaders', names, ['request', 'response'])
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
    // Some servers read an underscore in a name as a hyphen.
    const read = lower.replaceAll('_', '-')
    if (hopByHop.test(read) || never.test(read) || read === csrfHeader)
      invalid(`${option} must not hold credentials, cookies, forwarding or connection fields. See docs/backend.md`)
    return lower
  })
}

/** Headers as `fetch` and `Response` take them. They make `Headers` of the list themselves, so the proxy does not. */
export type HeaderList = [name: string, value: string][]

/**
 * Returns the headers of a request that the API may see, without the bearer header. `Upgrade` does not pass, so a WebSocket cannot be
 * opened through the proxy.
 */
export function requestHeaders(headers: Headers, { toApi }: PassedHeaders): HeaderList {
  // Without a coding, the body of the response passes as it is.
  return [...filtered(headers, toApi), ['accept-encoding', 'identity']]
}

/** Matches a challenge that makes the browser ask for a password, which it would do for the app's origin. */
const asksForPassword = /\b(basic|digest|negotiate|ntlm)\b/i

/** Returns the headers of a response that the browser may see. */
export function responseHeaders(headers: Headers, { toBrowser }: PassedHeaders): HeaderList {
  const kept = filtered(headers, toBrowser)
  const length = headers.get('content-length')
  if (length !== null && !headers.has('content-encoding') && /^\d+$/.test(length)) kept.push(['content-length', length])
  return kept.filter(([name, value]) => name !== 'www-authenticate' || !asksForPassword.test(value))
}

export const redirectMessage =
  'The API responded with a redirect, which is not followed. Check baseUrl and the paths in proxy.'

const codingMessage = 'The API sent a content coding that cannot be decoded. It must send none, gzip, deflate or br.'

/**
 * Matches the codings of a body that is plain: none, or those that `fetch` has decoded (Fetch standard, section 5.6). Beside `identity` or
 * an empty element it decodes nothing.
 */
const plainCodings = /^[\s,]*(identity\b[\s,]*)*$|^(gzip|x-gzip|deflate|br)(\s*,\s*(gzip|x-gzip|deflate|br))*$/i

/** The error of a response that cannot be passed on. Its message is that of the 502. */
export class UnusableResponseError extends Error {}

/** Throws if the response is a redirect, or cannot be decoded. */
export function requirePassable({ status, type, redirected, body, headers }: Response): void {
  const isRedirect = status >= 300 && status < 400 && status !== 304
  if (type === 'opaqueredirect' || redirected || isRedirect) throw new UnusableResponseError(redirectMessage)
  if (body && !plainCodings.test(headers.get('content-encoding') ?? '')) throw new UnusableResponseError(codingMessage)
}

function filtered(headers: Headers, passed: ReadonlySet<string>): HeaderList {
  const named = new Set((headers.get('connection') ?? '').toLowerCase().split(/[\s,]+/))
  return [...headers].filter(([name]) => passed.has(name) && !named.has(name))
}
