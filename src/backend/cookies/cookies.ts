/** One cookie of ours. The same descriptor sets and clears it, since a browser matches name, path and flags. */
export interface CookieKind {
  readonly name: string
  readonly sameSite: 'Strict' | 'Lax'
  readonly security: 'secure' | 'loopback'
  readonly maxAgeS: number
}

/** A login's cookie: its state stands between `prefix` and `suffix`, which no state and no other app's name contains. */
export interface LoginCookieKind extends Omit<CookieKind, 'name'> {
  readonly prefix: string
  readonly suffix: string
}

export interface CookieOptions {
  readonly security: CookieKind['security']
  readonly port: string
  readonly basePath: string
  readonly sameSite: 'strict' | 'lax'
  readonly sessionLifeMs: number
}

/**
 * Names that differ for each port and base path of one host, because cookies are not scoped by port, and all have
 * `Path=/`. Neither a base path nor a state can contain `+`, so that no name can be read in two ways.
 */
export function cookieKinds({ security, port, basePath, sameSite, sessionLifeMs }: CookieOptions): {
  readonly sessionCookie: CookieKind
  readonly loginCookie: LoginCookieKind
} {
  const base = `${security === 'secure' ? '__Host-' : ''}agent-auth${port && `-${port}`}`
  const suffix = basePath === '/auth' ? '' : basePath.replaceAll('/', '+')
  const maxAgeS = Math.floor(sessionLifeMs / 1_000)
  return {
    sessionCookie: { name: base + suffix, security, sameSite: sameSite === 'lax' ? 'Lax' : 'Strict', maxAgeS },
    // Browsers withhold a Strict cookie when the authorization server redirects back.
    loginCookie: { prefix: `${base}-login-`, suffix, security, sameSite: 'Lax', maxAgeS: 600 },
  }
}

/** The values of a request's cookies by name, the first of each name. RFC 6265 section 4.2.1. */
export function readCookies({ headers }: { readonly headers: Headers }): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const at = pair.indexOf('=')
    const name = trimmed(pair.slice(0, at))
    if (at > 0 && !cookies.has(name)) cookies.set(name, trimmed(pair.slice(at + 1)))
  }
  return cookies
}

/** A `Set-Cookie` line; without a value it removes the cookie. */
export function cookieLine({ name, sameSite, security, maxAgeS }: CookieKind, value?: string): string {
  const secure = security === 'secure' ? '; Secure' : ''
  const age = value === undefined ? 0 : maxAgeS
  return `${name}=${value ?? ''}; Path=/; HttpOnly; SameSite=${sameSite}${secure}; Max-Age=${age}`
}

/**
 * Other blanks belong to the name: cutting them off would let a sibling's cookie pass for one with `__Host-`. One match:
 * looking for the last blanks from each blank on would take time by the square of their number.
 */
function trimmed(text: string): string {
  return /^[ \t]*((?:.*[^ \t])?)/s.exec(text)?.[1] ?? ''
}
