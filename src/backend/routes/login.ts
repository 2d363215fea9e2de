import { startLogin } from '../../authorize.ts'
import { attempt } from '../../internal/attempt.ts'
import { maxReturnUrlLength } from '../../internal/limits.ts'
import type { BackendContext } from '../context.ts'
import { oldestLoginRemovals, pendingLoginLine } from '../cookies/pending-login-cookie.ts'
import { newSessionId, readSessionCookie } from '../cookies/session-cookie.ts'
import { isNavigation, isOwnNavigation, isPrefetch } from '../page-loads.ts'
import { createResponse, errorResponse } from '../responses.ts'

/**
 * `GET {basePath}/login?return_to=/path`: redirects a page load to the authorization server. A user who is signed in stays so until
 * the callback of this login succeeds. It then ends the earlier session (`endReplaced` in routes/callback.ts).
 */
export async function login(context: BackendContext, request: Request): Promise<Response> {
  if (isPrefetch(request)) return prefetchRefused()
  if (!isNavigation(request))
    return errorResponse(403, {
      code: 'origin_forbidden',
      message: 'Login must be a page navigation, not fetch or a frame. Link to this URL.',
    })
  context.setupProblems.checkHost(request)
  const { url, pending } = await startLogin(context.config, { returnTo: returnUrl(context, request) })
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
 * Returns the page on which a login ends. The browser requests it with the Strict cookie and as same-origin, so another site
 * must not choose it, unless the app accepts links from other sites with its cookie anyway.
 */
function returnUrl(context: BackendContext, request: Request): string {
  const { origin, sessionCookie } = context
  return sessionCookie.sameSite === 'Lax' || isOwnNavigation(request, origin) ? requestedUrl(context, request) : '/'
}

/**
 * Returns `/` for a return URL that is too long (`maxReturnUrlLength`, 1,024 characters) or a route of the backend. Measures path,
 * query and fragment as they are stored: without the segments `.` and `..`, and percent-encoded. `startLogin` checks the origin
 * (return-url.ts).
 */
function requestedUrl({ basePath, origin }: BackendContext, request: Request): string {
  const target = new URL(request.url).searchParams.get('return_to') ?? '/'
  const { pathname, search, hash } = attempt(() => new URL(target, origin)) ?? new URL(origin)
  const length = pathname.length + search.length + hash.length
  return length > maxReturnUrlLength || pathname.startsWith(`${basePath}/`) ? '/' : target
}
