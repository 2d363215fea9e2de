import { type CookieJar, cookieHeader, keepCookies } from './cookie-jar.ts'

/**
 * Follows the redirects of a login as a browser would, with its cookies, until one leads to the redirect URI; resolves to that
 * URL without requesting it.
 */
export async function followLogin(authorizeUrl: string, redirectUri: string): Promise<string> {
  const cookies: CookieJar = new Map()
  let at = authorizeUrl
  for (let hops = 0; hops < 10; hops++) {
    const response = await fetch(at, { redirect: 'manual', headers: { cookie: cookieHeader(cookies) } })
    keepCookies(cookies, response)
    const location = response.headers.get('location')
    if (!location)
      throw new Error(`The login stopped at ${new URL(at).pathname}: ${response.status} ${await response.text()}`)
    at = new URL(location, at).href
    if (at.startsWith(redirectUri)) return at
  }
  throw new Error('The login was redirected more than ten times.')
}
