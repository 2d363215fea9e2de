import { checkServiceUrl } from '../config/service-url.ts'
import { AgentAuthError } from '../errors.ts'

/** Where a token may go: under one base URL, or anywhere on the listed origins. */
export type BearerScope =
  | { readonly baseUrl: string; readonly origins?: undefined }
  | { readonly origins: readonly string[]; readonly baseUrl?: undefined }

type FetchInput = Parameters<typeof fetch>[0]

/**
 * Returns a function that gives the absolute URL of a request that may carry the token, else undefined. What it gives is
 * what must be sent, so that both look at the same parse. Relative URLs are resolved against `baseUrl`.
 */
export function allowedTargets({ baseUrl, origins }: BearerScope): (input: FetchInput) => string | undefined {
  const bases = (baseUrl === undefined ? (origins ?? []) : [baseUrl]).map(
    (url) => new URL(checkServiceUrl('baseUrl or origins', url)),
  )
  if (bases.length === 0) throw new AgentAuthError('config_invalid', 'A bearer fetch needs baseUrl or origins.')
  const [only] = baseUrl === undefined ? [] : bases
  const prefix = only ? only.pathname.replace(/\/+$/, '') : ''
  const relativeTo = only && `${only.origin}${prefix}/`
  if (!only && bases.some(({ pathname }) => pathname !== '/'))
    throw new AgentAuthError(
      'config_invalid',
      'origins must be bare origins: use baseUrl to limit the token to a path.',
    )
  const allowed = new Set(bases.map(({ origin }) => origin))
  // Requests repeat, and parsing is most of the cost of a call with a good token.
  let last: { text: string | undefined; base: string | undefined; target: string | undefined } | undefined
  return (input) => {
    const text = textOf(input)
    const base = relativeTo ?? globalThis.document?.baseURI ?? globalThis.location?.href
    if (!last || last.text !== text || last.base !== base)
      last = { text, base, target: judge(parse(text, base), allowed, prefix) }
    return last.target
  }
}

/** What will be sent: a subclass of Request may show another URL than its own; what only looks like one is not judged. */
function textOf(input: FetchInput): string | undefined {
  if (typeof input === 'string') return input
  if (input instanceof Request) return String(Reflect.get(Request.prototype, 'url', input))
  return 'url' in input ? undefined : String(input)
}

function judge(url: URL | undefined, allowed: ReadonlySet<string>, prefix: string): string | undefined {
  // A blob: URL shows the origin of the page that made it.
  if (!url || !/^https?:$/.test(url.protocol) || !allowed.has(url.origin) || url.username || url.password)
    return undefined
  const inside = !prefix || url.pathname === prefix || url.pathname.startsWith(`${prefix}/`)
  // Behind a path prefix, an encoded separator may climb out where the server decodes it.
  return inside && !(prefix && /%2f|%5c/i.test(url.pathname)) ? url.href : undefined
}

function parse(text: string | undefined, base: string | undefined): URL | undefined {
  try {
    return text === undefined ? undefined : new URL(text, base)
  } catch {
    return undefined
  }
}
