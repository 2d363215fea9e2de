import { requestLimits } from './limits.ts'

const loopbackLiteral = /^http:\/\/(127\.0\.0\.1|\[::1\])(:[1-9]\d{0,4})?([/?].*)?$/

/**
 * Compares redirect URIs as text, because URL parsing would turn other spellings into the registered one. Only the port
 * of a public client's loopback literal is free, because a native app cannot choose it in advance (RFC 8252 §7.3).
 * A URI that does not match gets a page with 400, and never a redirect.
 */
export function matchesRegistered(sent: string, registered: string, kind: 'public' | 'confidential'): boolean {
  if (sent === registered) return true
  if (kind === 'confidential') return false
  const left = loopbackLiteral.exec(sent)
  const right = loopbackLiteral.exec(registered)
  if (left === null || right === null || !isPort(left[2])) return false
  return left[1] === right[1] && (left[3] ?? '') === (right[3] ?? '')
}

/** Returns a redirect URI on a loopback literal without its port, or undefined for any other. */
export function withoutLoopbackPort(uri: string): string | undefined {
  const literal = loopbackLiteral.exec(uri)
  return literal === null ? undefined : `http://${literal[1]}${literal[3] ?? ''}`
}

/**
 * Returns the origin of the pages at which a login with this redirect URI can end. `:*` is any port. The store compares it
 * with `pageOriginsOf` the origin of a page.
 * A migration calls it, so a change needs a new migration that writes all rows again.
 */
export function registeredPageOrigin(registered: string, kind: 'public' | 'confidential'): string {
  const url = new URL(registered)
  return kind === 'public' && url.protocol === 'http:' ? anyPortOf(url.hostname) : url.origin
}

/** The registered page origins that a page belongs to: its own, and on loopback that of any port. Elsewhere both are its own. */
export interface PageOrigins {
  origin: string
  anyPort: string
}

/** Returns the registered page origins that a page of this origin belongs to, or undefined if the text is no origin. */
export function pageOriginsOf(origin: string): PageOrigins | undefined {
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) return undefined
  const host = loopbackLiteral.exec(origin)?.[1]
  return { origin, anyPort: host === undefined ? origin : anyPortOf(host) }
}

function anyPortOf(loopbackHost: string): string {
  return `http://${loopbackHost}:*`
}

function isPort(text: string | undefined): boolean {
  return text === undefined || Number(text.slice(1)) <= 65_535
}

/** Returns why redirect URIs cannot be registered, or undefined if they can. */
export function refuseRegistration(redirectUris: readonly string[]): string | undefined {
  if (redirectUris.length < 1 || redirectUris.length > requestLimits.redirectUris)
    return `register 1 to ${requestLimits.redirectUris} redirect URIs`
  return redirectUris.map(refuseRedirectUri).find((problem) => problem !== undefined)
}

/** Returns the same for one of them. */
export function refuseRedirectUri(uri: string): string | undefined {
  if (isRegistrable(uri)) return undefined
  // A name may resolve to another address; the literals cannot (RFC 8252 §8.3).
  const why = /^http:\/\/localhost(?=[:/?]|$)/i.test(uri)
    ? 'write 127.0.0.1 instead of localhost, here and where the application is opened'
    : 'use https, or http on 127.0.0.1 or [::1], without fragment, userinfo or wildcard'
  return `${JSON.stringify(uri.slice(0, requestLimits.shownRedirectUriCharacters))} cannot be a redirect URI: ${why}`
}

function isRegistrable(uri: string): boolean {
  if (
    uri.length > requestLimits.redirectUriCharacters ||
    !/^[\x21-\x7e]+$/.test(uri) ||
    /[#*\\]/.test(uri) ||
    !URL.canParse(uri)
  )
    return false
  const url = new URL(uri)
  if (url.username !== '' || url.password !== '' || uri.includes('@')) return false
  return /^https:\/\/[^/]/.test(uri) || (loopbackLiteral.test(uri) && isPort(loopbackLiteral.exec(uri)?.[2]))
}
