export interface Cookie {
  readonly value: string
  readonly sameSite: string
}

/** The cookies of a browser for one origin. */
export type CookieJar = Map<string, Cookie>

/** Sets and removes cookies as a response says. Returns its `Set-Cookie` lines. */
export function keepCookies(jar: CookieJar, response: Response): string[] {
  const lines = response.headers.getSetCookie()
  for (const line of lines) {
    const [pair = '', ...attributes] = line.split(/; */)
    const at = pair.indexOf('=')
    const attribute = (name: string): string | undefined =>
      attributes.find((text) => text.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)
    if (attribute('max-age') === '0') jar.delete(pair.slice(0, at))
    else jar.set(pair.slice(0, at), { value: pair.slice(at + 1), sameSite: attribute('samesite') ?? 'Lax' })
  }
  return lines
}

/** Returns the `Cookie` header of a request that another site starts, or not. */
export function cookieHeader(jar: CookieJar, from: 'same-site' | 'cross-site' = 'same-site'): string {
  const sent = [...jar].filter(([, { sameSite }]) => from === 'same-site' || sameSite === 'Lax')
  return sent.map(([name, { value }]) => `${name}=${value}`).join('; ')
}
