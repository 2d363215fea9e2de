import type { Context } from 'hono'
import { setCookie } from 'hono/cookie'
import { randomSecret } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { lifetimes } from '../lifetimes.ts'
import { credentialLimits } from '../limits.ts'

/**
 * `browser` ties an authorization request to the browser that began it. `session` identifies the signed-in user. `device` lists the
 * accounts that this browser signed in to before (`deviceCookieMs`, 400 days; A-73). The others last until the browser ends. All
 * are `SameSite=Lax`, because the authorize request comes from another site. On plain http a browser rejects `Secure` cookies and
 * refuses the `__Host-` prefix, so there the name has the port, because cookies are not scoped by port.
 */
type CookieKind = 'browser' | 'session' | 'device'

const secretPattern = /^[A-Za-z0-9_-]{43}$/
const devicePattern = new RegExp(String.raw`^[\w-]{43}(?:\.[\w-]{43}){1,${credentialLimits.deviceAccounts}}$`)
const shapes: Record<CookieKind, { value: RegExp; maxAge?: number }> = {
  browser: { value: secretPattern },
  session: { value: secretPattern },
  device: { value: devicePattern, maxAge: lifetimes.deviceCookieMs / 1_000 },
}

/** Reads a cookie. Of two with one name none counts, because a service on another port of this host can plant one (session fixation). */
export function readCookie(c: Context<HttpEnvironment>, kind: CookieKind): string | undefined {
  const start = `${cookieName(c, kind)}=`
  const named = (c.req.header('cookie') ?? '').split(';').filter((pair) => pair.trimStart().startsWith(start))
  if (named.length !== 1) return undefined
  const value = named[0]?.trim().slice(start.length) ?? ''
  return shapes[kind].value.test(value) ? value : undefined
}

export function writeCookie(c: Context<HttpEnvironment>, kind: CookieKind, value: string): void {
  const { maxAge } = shapes[kind]
  const life = maxAge === undefined ? {} : { maxAge }
  setCookie(c, cookieName(c, kind), value, { path: '/', httpOnly: true, sameSite: 'Lax', secure: isHttps(c), ...life })
}

export function removeCookie(c: Context<HttpEnvironment>, kind: CookieKind): void {
  setCookie(c, cookieName(c, kind), '', { path: '/', httpOnly: true, sameSite: 'Lax', secure: isHttps(c), maxAge: 0 })
}

/** Returns the value of the `browser` cookie, which is made at the first visit. */
export function ensureBrowser(c: Context<HttpEnvironment>): string {
  const known = readCookie(c, 'browser')
  if (known !== undefined) return known
  const fresh = randomSecret()
  writeCookie(c, 'browser', fresh)
  return fresh
}

function isHttps(c: Context<HttpEnvironment>): boolean {
  return c.get('service').config.authUrl.startsWith('https:')
}

function cookieName(c: Context<HttpEnvironment>, kind: CookieKind): string {
  if (isHttps(c)) return `__Host-agent_service_${kind}`
  return `agent_service_${kind}_${/:(\d+)$/.exec(c.get('service').config.authUrl)?.[1] ?? '80'}`
}
