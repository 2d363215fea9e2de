import { maxLoginMs } from '../../internal/limits.ts'

/**
 * One cookie of the backend. The same descriptor sets and removes it: a browser finds the cookie by name, host and path, and ignores
 * a line with `__Host-` that lacks its flags. RFC 6265 section 5.3.
 */
export interface CookieKind {
  readonly name: string
  readonly sameSite: 'Strict' | 'Lax'
  /**
   * `loopback`: http on localhost, where a cookie has neither `Secure` nor `__Host-`. Every other redirect URI is https
   * (`checkServiceUrl`).
   */
  readonly security: 'secure' | 'loopback'
  readonly maxAgeS: number
}

/**
 * The cookies of pending logins. A name is `prefix`, the state and `suffix`. The suffix is empty or begins with `+`, which no state
 * contains, so that it is clear where the state ends.
 */
export interface PendingLoginCookieKind extends Omit<CookieKind, 'name'> {
  readonly prefix: string
  readonly suffix: string
}

export interface CookieOptions {
  readonly security: CookieKind['security']
  readonly port: string
  readonly basePath: string
  /** The option `sameSite` of the backend. Default `strict`. */
  readonly sameSite: 'strict' | 'lax'
  readonly sessionLifeMs: number
}

/**
 * Returns the cookies of a backend. All are `HttpOnly` with `Path=/`, and on https `Secure` and `__Host-`. None contains a token: the
 * session cookie is a random id (session-cookie.ts), and the cookies of logins are encrypted (pending-login-cookie.ts). Names differ for
 * each port and base path of a host, because cookies are not scoped by port. The session cookie lives for `sessionLifeMs`. The cookie of
 * a login lives as long as the login (`maxLoginMs`, 10 minutes). Neither a base path nor a state can contain `+`, which separates them.
 */
export function cookieKinds({ security, port, basePath, sameSite, sessionLifeMs }: CookieOptions): {
  readonly sessionCookie: CookieKind
  readonly pendingLoginCookie: PendingLoginCookieKind
} {
  const base = `${security === 'secure' ? '__Host-' : ''}agent-auth${port && `-${port}`}`
  const suffix = basePath === '/auth' ? '' : basePath.replaceAll('/', '+')
  const maxAgeS = Math.floor(sessionLifeMs / 1_000)
  return {
    sessionCookie: { name: base + suffix, security, sameSite: sameSite === 'lax' ? 'Lax' : 'Strict', maxAgeS },
    // Browsers do not send a Strict cookie when the authorization server redirects to the callback.
    pendingLoginCookie: { prefix: `${base}-login-`, suffix, security, sameSite: 'Lax', maxAgeS: maxLoginMs / 1_000 },
  }
}

/** Returns a `Set-Cookie` line. Without a value it removes the cookie. */
export function cookieLine({ name, sameSite, security, maxAgeS }: CookieKind, value?: string): string {
  const secure = security === 'secure' ? '; Secure' : ''
  const age = value === undefined ? 0 : maxAgeS
  return `${name}=${value ?? ''}; Path=/; HttpOnly; SameSite=${sameSite}${secure}; Max-Age=${age}`
}
