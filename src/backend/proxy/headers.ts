import { guardHeader } from '../same-origin.ts'

/** About one connection, never passed on. RFC 9110 section 7.6.1. */
const hopByHop =
  /^(connection|keep-alive|proxy(-.*)?|te|trailer|transfer-encoding|upgrade|content-length|http2-settings)$/
/** Who asks and how they came here is ours to know; the API sees this backend and one bearer header. */
const inbound =
  /^(authorization|cookie2?|host|forwarded|x-forwarded.*|x-real-ip|.*client-ip|cf-connecting-ip|x-original-.*|x-rewrite-.*|x-(http-)?method.*|via|expect|origin|referer|sec-.*|access-control-.*|accept-encoding)$/
/** What would act on this app's origin, on the server before it or on a cache in the API's name. */
const outbound =
  /^(set-cookie2?|access-control-.*|content-encoding|clear-site-data|strict-transport-security|alt-svc|refresh|service-worker-allowed|server-timing|location|nel|report-to|reporting-endpoints|set-login|accept-ch|x-accel-.*|x-sendfile|(.*-)?cdn-cache-control|surrogate-control|edge-control|expires|age)$/

const maxHeaderBytes = 16_384

/** Fields in the form that `fetch` and `Response` take: making `Headers` of them is theirs to do, once. */
export type Fields = [name: string, value: string][]

/** The headers of a request as the API may see them; undefined when they are too large. */
export function requestHeaders(headers: Headers): Fields | undefined {
  let size = 0
  for (const [name, value] of headers) size += name.length + value.length + 4
  if (size > maxHeaderBytes) return undefined
  const kept = filtered(headers, inbound, guardHeader)
  // The body is passed on as it comes: nothing here has to unpack it.
  kept.push(['accept-encoding', 'identity'])
  return kept
}

/** The headers of an answer as the browser may see them. */
export function responseHeaders(headers: Headers): Fields {
  // A password prompt of the browser would be for this app, in the API's name.
  const prompts = /\b(basic|digest|negotiate|ntlm)\b/i.test(headers.get('www-authenticate') ?? '')
  const kept = filtered(headers, outbound, prompts ? 'www-authenticate' : '')
  const length = headers.get('content-length')
  if (length !== null && !headers.has('content-encoding') && /^\d+$/.test(length)) kept.push(['content-length', length])
  return kept
}

function filtered(headers: Headers, dropped: RegExp, also: string): Fields {
  const named = new Set([also, ...(headers.get('connection') ?? '').toLowerCase().split(/[\s,]+/)])
  return [...headers].filter(([name]) => {
    // Some servers take the two for one.
    const read = name.replaceAll('_', '-')
    return !hopByHop.test(read) && !dropped.test(read) && !named.has(name)
  })
}
