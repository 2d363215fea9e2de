import { invalid } from '../config/invalid.ts'
import { checkServiceUrl } from '../config/service-url.ts'
import { attempt } from '../internal/attempt.ts'
import { maxRememberedUrlLength, maxRememberedUrls } from '../internal/limits.ts'

/** Where a token may go: under one base URL, or anywhere on the listed origins. */
export type BearerScope =
  /** `baseUrl`: a URL whose path is a prefix. */
  | { readonly baseUrl: string; readonly origins?: undefined }
  /** `origins`: URLs without a path. */
  | { readonly origins: readonly string[]; readonly baseUrl?: undefined }

type FetchInput = Parameters<typeof fetch>[0]
type Target = string | Request
/** Gives the URL that a text means, if the token may go there. */
type Judged = (text: string) => string | undefined

const encoded = /%([\da-f]{2})/gi

/**
 * Returns a function that gives what must be sent of a request that may carry the token, else undefined: the absolute URL
 * that was judged, or a Request that goes there. Relative text is resolved against `baseUrl`; all else must be absolute.
 */
export function allowedTargets({ baseUrl, origins = [] }: BearerScope): (input: FetchInput) => Target | undefined {
  const named = baseUrl === undefined ? origins : [baseUrl]
  const bases = named.map((url) => new URL(checkServiceUrl('baseUrl or origins', url)))
  const [first] = bases
  if (!first) invalid('a bearer fetch needs baseUrl or origins')
  if (baseUrl === undefined && bases.some(({ pathname }) => pathname !== '/'))
    invalid('origins must be bare; a path needs baseUrl')
  const prefix = first.pathname.replace(/\/+$/, '')
  const allowed = bases.map(({ origin }) => origin)
  const relativeTo = baseUrl === undefined ? undefined : `${allowed[0]}${prefix}/`
  const judgedFrom = (base?: string): Judged => remembered((text) => judge(parse(text, base), allowed, prefix))
  const absolute = judgedFrom()
  let base: string | undefined
  let relative = absolute
  return (input) => {
    const text = textOf(input)
    if (text === undefined) return undefined
    if (typeof input !== 'string') {
      const url = absolute(text)
      return url && input instanceof Request ? requestTo(input, text) : url
    }
    const current = relativeTo ?? pageUrl()
    if (base !== current) {
      base = current
      relative = judgedFrom(base)
    }
    return relative(text)
  }
}

/** Requests repeat, and parsing is most of the cost of a call with a valid token. */
function remembered(judgeText: Judged): Judged {
  const judged = new Map<string, string | undefined>()
  return (text) => {
    if (text.length > maxRememberedUrlLength) return judgeText(text)
    if (judged.has(text)) return judged.get(text)
    if (judged.size >= maxRememberedUrls) judged.clear()
    const url = judgeText(text)
    judged.set(text, url)
    return url
  }
}

/** Whether the URL of a request holds a user name or password: every `fetch` refuses it with an error that quotes it. */
export function hasUserInfo(input: FetchInput): boolean {
  const text = textOf(input) ?? ''
  const url = parse(text, pageUrl())
  if (url) return `${url.username}${url.password}` !== ''
  // Where the text is no URL, a password may hold any character.
  const [start] = /^(\s*[a-z][\w+.-]*:|[^?#]*?[/\\]{2})/i.exec(text) ?? []
  return start !== undefined && text.includes('@', start.length)
}

function pageUrl(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href
}

function parse(text: string, base: string | undefined): URL | undefined {
  return attempt(() => new URL(text, base))
}

/** The URL as text, read once; what only looks like a Request, or shows another URL than it goes to, has none. */
function textOf(input: FetchInput): string | undefined {
  if (typeof input === 'string') return input
  return attempt(() => {
    if (!(input instanceof Request)) return 'url' in input ? undefined : String(input)
    const { url } = input
    const getter = urlGetter()
    return typeof url === 'string' && (!getter || getter.call(input) === url) ? url : undefined
  })
}

/**
 * What `fetch` goes by: the innermost getter, since a server may put a class that extends the platform's into its place.
 * Undefined where the URL is a property that can be set, as on React Native.
 */
function urlGetter(): (() => unknown) | undefined {
  let getter: (() => unknown) | undefined
  let level: object | null = Request.prototype
  while (level) {
    getter = Object.getOwnPropertyDescriptor(level, 'url')?.get ?? getter
    level = Object.getPrototypeOf(level)
  }
  return getter
}

/** A Request whose URL nobody can change while the token is waited for. */
function requestTo(request: Request, url: string | undefined): Request | undefined {
  if (urlGetter()) return request
  const copy = Request.prototype.clone.call(request)
  return copy.url === url ? copy : undefined
}

function judge(url: URL | undefined, allowed: readonly string[], prefix: string): string | undefined {
  // A blob: URL shows the origin of the page that made it.
  if (!url || !/^https?:$/.test(url.protocol) || !allowed.includes(url.origin) || url.username || url.password)
    return undefined
  const { pathname, href } = url
  const inside = pathname === prefix || pathname.startsWith(`${prefix}/`)
  return inside && !(prefix && mayClimb(pathname)) ? href : undefined
}

/** Whether a server that decodes a path, even more than once, or drops what follows a `;` may read this one as a way up. */
function mayClimb(path: string): boolean {
  if (!/[%;]/.test(path)) return false
  let decoded = path
  for (let times = 0; times < 4; times++) decoded = decoded.replace(encoded, decodeByte)
  const segments = decoded.split(/[/\\]/)
  return (
    segments.length > path.split('/').length ||
    segments.some((name) => /^\.\.?\s*(;|\p{Cc}|$)/u.test(name)) ||
    decoded.search(encoded) >= 0
  )
}

function decodeByte(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16))
}
