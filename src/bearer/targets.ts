import { invalid } from '../config/invalid.ts'
import { checkApiUrl, checkServiceUrl } from '../config/service-url.ts'
import { attempt } from '../internal/attempt.ts'
import { maxPathDecodings, maxRememberedUrlLength, maxRememberedUrls } from '../internal/limits.ts'
import { cloneOf, urlGetter } from './platform-request.ts'

/**
 * The URLs that may receive the token: those under one base URL, or all of the listed origins. The target of a redirect is not checked
 * here: the `fetch` of the platform removes the header at another origin, and keeps it within the origin (bearer.ts).
 */
export type BearerTargets =
  /** `baseUrl`: an https URL, or http on loopback. Its path is a prefix. */
  | { readonly baseUrl: string; readonly origins?: undefined }
  /** `origins`: URLs without a path, by the same rules. */
  | { readonly origins: readonly string[]; readonly baseUrl?: undefined }

interface HttpHosts {
  readonly allowHttpHosts?: readonly string[] | undefined
}

type FetchInput = Parameters<typeof fetch>[0]
/** Returns the absolute URL of a text if it may receive the token. */
type Judge = (text: string) => string | undefined

const encoded = /%([\da-f]{2})/gi

/** Says what to send if a request may carry the token: the absolute URL that was checked, or a Request for it. */
export type TargetOf = (input: FetchInput) => string | Request | undefined

/** Allows the targets of the options. Relative text is resolved against `baseUrl`, or else against the page. Throws `config_invalid`. */
export function allowedTargets({ baseUrl, origins = [], allowHttpHosts }: BearerTargets & HttpHosts): TargetOf {
  if (baseUrl !== undefined) return targetsUnder(baseUrl, allowHttpHosts)
  const bases = origins.map((url) => new URL(checkServiceUrl('origins', url, allowHttpHosts)))
  if (bases.length === 0) invalid('baseUrl or origins is missing')
  if (bases.some(({ pathname }) => pathname !== '/')) invalid('origins must have no path. Use baseUrl for a path')
  return targetsAt(
    bases.map(({ origin }) => origin),
    '',
  )
}

/** Allows the targets under one base URL. They throw `config_invalid` for a relative URL that would hold `/api` twice. */
export function targetsUnder(baseUrl: string, allowHttpHosts?: readonly string[]): TargetOf {
  const { origin, pathname } = new URL(checkServiceUrl('baseUrl', baseUrl, allowHttpHosts))
  const prefix = pathname.replace(/\/+$/, '')
  return targetsAt([origin], prefix, `${origin}${prefix}/`)
}

function targetsAt(allowed: readonly string[], prefix: string, relativeTo?: string): TargetOf {
  const judgeFrom = (base?: string): Judge => remembered((text) => judge(parse(text, base), allowed, prefix))
  const absolute = judgeFrom()
  let base: string | undefined
  let relative = absolute
  const getterOf = urlGetter()
  function targetOfRequest(request: Request): string | Request | undefined {
    const getter = getterOf()
    const text = urlOf(request, getter)
    if (text === undefined || !absolute(text)) return undefined
    if (getter) return request
    // A copy, so that its URL cannot be changed while the call waits for the token.
    const copy = cloneOf(request)
    return copy.url === text ? copy : undefined
  }
  return (input) => {
    if (typeof input !== 'string') {
      if (input instanceof Request) return targetOfRequest(input)
      const text = textOf(input)
      return text === undefined ? text : absolute(text)
    }
    if (relativeTo && input.startsWith('api/')) checkApiUrl(relativeTo)
    const current = relativeTo ?? pageUrl()
    if (base !== current) {
      base = current
      relative = judgeFrom(base)
    }
    return relative(input)
  }
}

/**
 * Remembers results (`maxRememberedUrls`, 64, of `maxRememberedUrlLength`, 2,048 characters), because requests repeat and parsing
 * is most of the cost of a call with a valid token.
 */
function remembered(judgeText: Judge): Judge {
  const judged = new Map<string, string | undefined>()
  return (text) => {
    if (text.length > maxRememberedUrlLength) return judgeText(text)
    const known = judged.get(text)
    if (known !== undefined || judged.has(text)) return known
    if (judged.size >= maxRememberedUrls) judged.clear()
    const url = judgeText(text)
    judged.set(text, url)
    return url
  }
}

/** Returns the origin that a request goes to if it does not get the token. Undefined if that is none of a host. */
export function originOf(input: FetchInput): string | undefined {
  const text = textOf(input)
  const origin = text === undefined ? text : parse(text, pageUrl())?.origin
  return origin?.startsWith('http') ? origin : undefined
}

/** Returns whether a URL holds a user name or password, because every `fetch` rejects it with an error that quotes it. */
export function hasUserInfo(input: FetchInput): boolean {
  const text = textOf(input) ?? ''
  const url = parse(text, pageUrl())
  if (url) return `${url.username}${url.password}` !== ''
  // If the text is no URL, a password can hold any character.
  const [start] = /^(\s*[a-z][\w+.-]*:|[^?#]*?[/\\]{2})/i.exec(text) ?? []
  return start !== undefined && text.includes('@', start.length)
}

export function pageUrl(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href
}

function parse(text: string, base: string | undefined): URL | undefined {
  return attempt(() => new URL(text, base))
}

/** Returns the URL as text. An object that only looks like a Request has none. */
function textOf(input: FetchInput): string | undefined {
  if (typeof input === 'string') return input
  if (input instanceof Request) return urlOf(input, urlGetter()())
  return attempt(() => ('url' in input ? undefined : String(input)))
}

/** Returns the URL that the Request shows, unless the platform's getter, which `fetch` uses, returns another one. */
function urlOf(request: Request, getter: (() => unknown) | undefined): string | undefined {
  try {
    const { url } = request
    return typeof url === 'string' && (!getter || getter.call(request) === url) ? url : undefined
  } catch {
    return undefined
  }
}

function judge(url: URL | undefined, allowed: readonly string[], prefix: string): string | undefined {
  // A blob: URL has the origin of the page that made it.
  if (!url || !/^https?:$/.test(url.protocol) || !allowed.includes(url.origin) || url.username || url.password)
    return undefined
  const { pathname, href } = url
  const inside = pathname === prefix || pathname.startsWith(`${prefix}/`)
  return inside && !(prefix && mayClimb(pathname)) ? href : undefined
}

/**
 * Returns whether a server that decodes a path several times (`maxPathDecodings`, 4), or ignores the text after a `;`, may leave
 * the base path for it.
 */
function mayClimb(path: string): boolean {
  if (!/[%;]/.test(path)) return false
  let decoded = path
  for (let times = 0; times < maxPathDecodings; times++) decoded = decoded.replace(encoded, decodeByte)
  const segments = decoded.split(/[/\\]/)
  return (
    segments.length > path.split('/').length ||
    segments.some((name) => /^\.\.?\s*(;|\p{Cc}|$)/u.test(name)) ||
    decoded.search(encoded) > -1
  )
}

function decodeByte(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16))
}
