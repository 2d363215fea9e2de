import { AgentAuthError } from '../errors.ts'
import { invalid } from '../internal/values.ts'
import { checkApiUrl, checkServiceUrl } from '../service-url.ts'

/** The URLs that may receive the token: those under one base URL, or all of the listed origins. */
export type BearerTargets =
  /** `baseUrl`: an https URL, or http on loopback. Its path is a prefix. */
  | { readonly baseUrl: string; readonly origins?: undefined }
  /** `origins`: URLs without a path, by the same rules. */
  | { readonly origins: readonly string[]; readonly baseUrl?: undefined }

interface HttpHosts {
  readonly allowHttpHosts?: readonly string[] | undefined
}

type FetchInput = Parameters<typeof fetch>[0]

/** Returns the absolute URL of a request that may carry the token. */
export type TargetOf = (input: FetchInput) => string | undefined

/** Matches text whose base would be parsed in vain, which is a third of the cost. */
const absolute = /^https?:\/\//

/**
 * Matches a path that a server may read as one that leaves the base path: an encoded dot, slash or backslash, also if a server decodes
 * several times, and parameters or control characters behind dots. An encoded hexadecimal digit could become a part of the former.
 */
const climbingPath = /^[^?#]*(%(25)*(2[ef]|3\d|4[1-6]|5c|6[1-6])|\/\.\.?(;|%(25)*([0-2]|3b|7f)))/i

/** Allows the targets of the options. Relative text is resolved against `baseUrl`, or else against the page. Throws `config_invalid`. */
export function allowedTargets({ baseUrl, origins = [], allowHttpHosts }: BearerTargets & HttpHosts): TargetOf {
  if (baseUrl !== undefined) return targetsUnder(baseUrl, allowHttpHosts)
  if (!Array.isArray(origins)) invalid('origins must be a list of URLs')
  const bases = origins.map((url) => new URL(checkServiceUrl('origins', url, allowHttpHosts)))
  if (bases.length === 0) invalid('baseUrl or origins is missing')
  if (bases.some(({ pathname }) => pathname !== '/')) invalid('origins must have no path. Use baseUrl for a path')
  const allowed = bases.map(({ origin }) => origin)
  return (input) => {
    const href = parse(input, pageUrl())?.href
    return href && allowed.some((origin) => isUnder(origin, href)) ? href : undefined
  }
}

/** Allows the targets under one base URL. They throw `config_invalid` for a relative URL that would hold `/api` twice. */
export function targetsUnder(baseUrl: string, allowHttpHosts?: readonly string[]): TargetOf {
  const { origin, pathname } = new URL(checkServiceUrl('baseUrl', baseUrl, allowHttpHosts))
  const path = pathname.replace(/\/+$/, '')
  const base = `${origin}${path}`
  return (input) => {
    if (typeof input === 'string' && input.startsWith('api/')) checkApiUrl(base)
    const href = parse(input, `${base}/`)?.href
    if (!href || !isUnder(base, href)) return undefined
    return path && climbingPath.test(href.slice(base.length)) ? undefined : href
  }
}

/** Compares the text of a parsed URL, where user info and the end of a host or segment cannot hide. */
function isUnder(base: string, href: string): boolean {
  return href.startsWith(base) && '/?#'.includes(href.charAt(base.length))
}

/** Returns the origin that a request goes to if it does not get the token. Undefined if that is none of a host. */
export function originOf(input: FetchInput): string | undefined {
  const origin = parse(input, pageUrl())?.origin
  return origin?.startsWith('http') ? origin : undefined
}

/** Returns whether a URL holds a user name or password, because every `fetch` rejects it with an error that quotes it. */
export function hasUserInfo(input: FetchInput): boolean {
  const url = parse(input, pageUrl())
  if (url) return `${url.username}${url.password}` !== ''
  // If the text is no URL, a password can hold any character.
  return typeof input === 'string' && /^(\s*[a-z][\w+.-]*:|[^?#]*?[/\\]{2}).*@/is.test(input)
}

export function pageUrl(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href
}

export function forbidden(message: string): AgentAuthError {
  return new AgentAuthError('origin_forbidden', message)
}

/** Only a text can be relative. An object of another class than the global Request is no URL. */
function parse(input: FetchInput, base: string | undefined): URL | undefined {
  try {
    if (typeof input === 'string') return absolute.test(input) ? new URL(input) : new URL(input, base)
    return new URL(input instanceof Request ? input.url : input)
  } catch {
    return undefined
  }
}
