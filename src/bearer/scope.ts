import { attempt } from '../attempt.ts'
import { invalid } from '../config/invalid.ts'
import { checkServiceUrl } from '../config/service-url.ts'

/** Where a token may go: under one base URL, or anywhere on the listed origins. */
export type BearerScope =
  | { readonly baseUrl: string; readonly origins?: undefined }
  | { readonly origins: readonly string[]; readonly baseUrl?: undefined }

type FetchInput = Parameters<typeof fetch>[0]

/**
 * Returns a function that gives the absolute URL of a request that may carry the token, else undefined. What it gives is
 * what must be sent, so that both look at the same parse. Relative URLs are resolved against `baseUrl`.
 */
export function allowedTargets({ baseUrl, origins = [] }: BearerScope): (input: FetchInput) => string | undefined {
  const named = baseUrl === undefined ? origins : [baseUrl]
  const bases = named.map((url) => new URL(checkServiceUrl('baseUrl or origins', url)))
  const [first] = bases
  if (!first) invalid('a bearer fetch needs baseUrl or origins')
  if (baseUrl === undefined && bases.some(({ pathname }) => pathname !== '/'))
    invalid('origins must be bare; a path needs baseUrl')
  const prefix = first.pathname.replace(/\/+$/, '')
  const allowed = bases.map(({ origin }) => origin)
  const relativeTo = baseUrl === undefined ? undefined : `${allowed[0]}${prefix}/`
  // Requests repeat, and parsing is most of the cost of a call with a good token.
  let last: { text?: string | undefined; base?: string | undefined; target?: string | undefined } = {}
  return (input) => {
    const text = textOf(input)
    const base = relativeTo ?? globalThis.document?.baseURI ?? globalThis.location?.href
    if (last.text !== text || last.base !== base)
      last = {
        text,
        base,
        target: judge(text === undefined ? text : attempt(() => new URL(text, base)), allowed, prefix),
      }
    return last.target
  }
}

/** What will be sent: a subclass of Request may show another URL than its own; what only looks like one is not judged. */
function textOf(input: FetchInput): string | undefined {
  if (typeof input === 'string') return input
  if (input instanceof Request) return String(Reflect.get(Request.prototype, 'url', input))
  return 'url' in input ? undefined : String(input)
}

function judge(url: URL | undefined, allowed: readonly string[], prefix: string): string | undefined {
  // A blob: URL shows the origin of the page that made it.
  if (!url || !/^https?:$/.test(url.protocol) || !allowed.includes(url.origin) || url.username || url.password)
    return undefined
  const { pathname, href } = url
  const inside = pathname === prefix || pathname.startsWith(`${prefix}/`)
  // Behind a path prefix, an encoded separator may climb out where the server decodes it.
  return inside && !(prefix && /%2f|%5c/i.test(pathname)) ? href : undefined
}
