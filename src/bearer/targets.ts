import { AgentAuthError } from '../errors.ts'
import { attempt, invalid } from '../internal/values.ts'
import { checkServiceUrl } from '../service-url.ts'

/** The URLs that may receive the token: those under one base URL, or all of the listed origins. */
export type BearerTargets =
  /** `baseUrl`: an https URL, or http on loopback. Its path is a prefix. */
  | { readonly baseUrl: string; readonly origins?: undefined }
  /** `origins`: URLs without a path, by the same rules. */
  | { readonly origins: readonly string[]; readonly baseUrl?: undefined }

type FetchInput = Parameters<typeof fetch>[0]

/** Returns the absolute URL of a request that may carry the token. */
export type TargetOf = (input: FetchInput) => string | undefined

/**
 * Matches a path that a server may read as one that leaves the base path: an encoded dot, slash or backslash, also if a server decodes
 * several times, and parameters or control characters behind dots. An encoded hexadecimal digit could become a part of the former.
 */
const climbingPath = /^[^?#]*(%(25)*(2[ef]|3\d|4[1-6]|5c|6[1-6])|\/\.\.?(;|%(25)*([0-2]|3b|7f)))/i

/** Matches what every URL parser leaves as it is, and no server reads as another path: it has no dot, percent sign or backslash. */
const plainPath = /^\/[\w/?=&-]*$/

/** Allows the targets of the options. Relative text is resolved against `baseUrl`, or else against the page. Throws `config_invalid`. */
export function allowedTargets(targets: BearerTargets, allowHttpHosts?: readonly string[]): TargetOf {
  const { baseUrl, origins } = targets
  const [name, urls] = baseUrl === undefined ? ['origins', origins] : ['baseUrl', [baseUrl]]
  if (!Array.isArray(urls) || urls.length === 0) invalid('baseUrl or origins is missing. origins is a list')
  const bases = urls.map((url) => {
    const { origin, pathname } = new URL(checkServiceUrl(name, url, allowHttpHosts))
    const path = pathname.replace(/\/+$/, '')
    return { start: origin + path, path }
  })
  const base = baseUrl?.replace(/\/*$/, '/')
  if (origins && bases.some(({ path }) => path)) invalid('origins must have no path. Use baseUrl for a path')
  return (input) => {
    // Most calls. Parsing would take as long as the rest of the call.
    const text = typeof input === 'string' ? input : ''
    if (bases.some(({ start }) => text.startsWith(start) && plainPath.test(text.slice(start.length)))) return text
    const href = parse(input, base ?? pageUrl())?.href
    return href && bases.some((base) => isUnder(base, href)) ? href : undefined
  }
}

/** Compares the text of a parsed URL, where user info and the end of a host or segment cannot hide. */
function isUnder({ start, path }: { readonly start: string; readonly path: string }, href: string): boolean {
  if (!href.startsWith(start) || !'/?#'.includes(href.charAt(start.length))) return false
  return !path || !climbingPath.test(href.slice(start.length))
}

/**
 * Returns the origin that a request goes to if it does not get the token. Undefined if that is none of a host. Throws for a URL with a
 * user name or password, because every `fetch` rejects it with an error that quotes it.
 */
export function originOf(input: FetchInput): string | undefined {
  const url = parse(input, pageUrl())
  if (url ? url.username || url.password : typeof input === 'string' && /:.*@/s.test(input)) forbid()
  return url?.origin.startsWith('http') ? url.origin : undefined
}

export function forbid(): never {
  throw new AgentAuthError('origin_forbidden', 'The token may not go to this URL. Check baseUrl or origins.')
}

function pageUrl(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href
}

/** Only a text can be relative. An object of another class than the global Request is no URL. */
function parse(input: FetchInput, base: string | undefined): URL | undefined {
  return attempt(() => {
    if (typeof input === 'string') return new URL(input, base)
    return new URL(input instanceof Request ? input.url : input)
  })
}
