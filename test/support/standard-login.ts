/**
 * Follows the redirects of a login as a browser would, with its cookies, until one leads to the redirect URI; resolves to that
 * URL without requesting it.
 */
export async function followLogin(authorizeUrl: string, redirectUri: string): Promise<string> {
  const cookies = new Map<string, string>()
  let at = authorizeUrl
  for (let hops = 0; hops < 10; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) keep(cookies, line)
    const location = response.headers.get('location')
    if (!location)
      throw new Error(`The login stopped at ${new URL(at).pathname}: ${response.status} ${await response.text()}`)
    at = new URL(location, at).href
    if (at.startsWith(redirectUri)) return at
  }
  throw new Error('The login was redirected more than ten times.')
}

function keep(cookies: Map<string, string>, setCookie: string): void {
  const [pair = ''] = setCookie.split(';')
  const equals = pair.indexOf('=')
  cookies.set(pair.slice(0, equals), pair.slice(equals + 1))
}
