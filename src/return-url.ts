import { attempt } from './internal/values.ts'

/**
 * Returns the path to which a user returns after a login. It prevents open redirects: it reduces `returnTo` to path, query and hash, or
 * to `/` if its origin is not that of the redirect URI. In a browser the default is the return URL of a login that failed on this page,
 * or else the page that calls `signIn` (browser/auth.ts). Checks the parsed path, because the parser turns `/..//e` into `//e`. A backend
 * refuses more (`returnUrl` in backend/routes/login.ts).
 */
export function sameOriginPath(target: string, redirectUri: string): string {
  const { origin } = new URL(redirectUri)
  const url = attempt(() => new URL(target, origin))
  if (url?.origin !== origin || !/^\/(?![/\\])/.test(url.pathname)) return '/'
  return url.pathname + url.search + url.hash
}
