import { createLogin } from '../../authorize.ts'
import { attempt } from '../../internal/values.ts'
import { isLoopback } from '../../service-url.ts'
import type { BackendContext } from '../context.ts'
import { newSessionId, readSessionCookie } from '../cookies.ts'
import { isNavigation, isOwnNavigation, isPrefetch } from '../csrf.ts'
import { oldestLoginRemovals, pendingLoginLine } from '../login-cookie.ts'
import { createResponse, errorResponse } from '../responses.ts'

/** A return URL is part of the cookie of its login. */
const maxReturnUrlLength = 1_024

/** The authorize parameters that a link to the login may set, with the values that pass. OpenID Connect Core section 3.1.2.1. */
const linkParams: ReadonlyMap<string, RegExp> = new Map([
  ['login_hint', /^[^\p{C}]{1,256}$/u],
  ['prompt', /^[a-z_]+( [a-z_]+){0,3}$/],
])

/**
 * `GET {basePath}/login?return_to=/path`: redirects a page load to the authorization server. A user who is signed in stays so until
 * the callback of this login succeeds, which ends the earlier session. `login_hint` and `prompt` go on to the authorization server.
 */
export async function login(context: BackendContext, request: Request): Promise<Response> {
  if (isPrefetch(request)) return prefetchRefused()
  if (!isNavigation(request))
    return errorResponse(403, {
      code: 'origin_forbidden',
      message: 'Login must be a page navigation, not fetch or a frame. Link to this URL.',
    })
  checkHost(context, request)
  const { searchParams } = new URL(request.url)
  const asked = [...searchParams].filter(([name, value]) => linkParams.get(name)?.test(value))
  const params = { ...context.params, ...Object.fromEntries(asked) }
  const { url, pending } = await createLogin(context.config, { returnTo: returnUrl(context, request), params })
  const { key: replacedKey } = await readSessionCookie(context, request)
  const line = await pendingLoginLine(context, { pending, sessionId: newSessionId(context), replacedKey })
  context.emit({ type: 'login_started' })
  return createResponse(null, {
    status: 302,
    headers: { location: url.href },
    cookies: [...oldestLoginRemovals(context, request, line), line],
  })
}

/** Returns an error status, because the browser would keep a successful response for the user's own visit. */
export function prefetchRefused(): Response {
  const message = 'Prefetch of the login and callback routes is not allowed. Open the page in the browser.'
  return errorResponse(503, { code: 'aborted', message })
}

/**
 * Returns the page on which a login ends. The browser requests it with the Strict cookie and as same-origin, so another site must not
 * choose it, unless the app accepts links from other sites with its cookie anyway. Measures path, query and fragment as they are stored,
 * and returns `/` for a route of the backend.
 */
function returnUrl({ basePath, origin, sessionCookie }: BackendContext, request: Request): string {
  if (sessionCookie.sameSite !== 'Lax' && !isOwnNavigation(request, origin)) return '/'
  const target = new URL(request.url).searchParams.get('return_to') ?? '/'
  const { pathname, search, hash } = attempt(() => new URL(target, origin)) ?? new URL(origin)
  const length = pathname.length + search.length + hash.length
  return length > maxReturnUrlLength || pathname.startsWith(`${basePath}/`) ? '/' : target
}

/**
 * Reports a login that begins at another host, port or scheme than that of the redirect URI, because the browser shows only an error page
 * of its own then. A development server in front may change them: then the page from which the login starts has the right ones.
 */
function checkHost({ origin, reportSetup }: BackendContext, { headers, url }: Request): void {
  const { protocol, host } = new URL(url)
  const at = attempt(() => new URL(`${protocol}//${headers.get('host') ?? host}`))
  const from = attempt(() => new URL(headers.get('referer') ?? ''))
  if (!at || at.origin === origin || !isLoopback(at.hostname) || from?.origin === origin) return
  // No callback at localhost is proposed, because a service may refuse it (RFC 8252 section 8.3).
  const remedy =
    at.hostname === 'localhost'
      ? 'Open the app there.'
      : `Serve the app there, or register and set a callback at ${at.origin}.`
  reportSetup('host', `The login began at ${at.origin}, but redirectUri is at ${origin}. ${remedy}`)
}
