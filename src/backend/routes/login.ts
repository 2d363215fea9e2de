import { startLogin } from '../../authorize.ts'
import { attempt } from '../../internal/attempt.ts'
import { crowdedOut, loginCookie } from '../cookies/pending-login-cookie.ts'
import { findSession, newSessionId } from '../cookies/session-cookie.ts'
import { isNavigation, isOwnNavigation, isPrefetch } from '../fetch-metadata.ts'
import type { BackendContext } from '../options.ts'
import { answer, failed } from '../responses.ts'

const maxReturnTo = 1_024

/** `GET {basePath}/login?return_to=/path`: to the authorization page, for page loads only. */
export async function login(context: BackendContext, request: Request): Promise<Response> {
  if (isPrefetch(request)) return notNow()
  if (!isNavigation(request))
    return failed(403, {
      code: 'origin_forbidden',
      message: 'Login must be a page navigation, not fetch or a frame. Link to this URL.',
    })
  const { url, pending } = await startLogin(context.config, { returnTo: returnTo(context, request) })
  const { key: replaces } = await findSession(context, request)
  const cookie = await loginCookie(context, { pending, id: newSessionId(context), replaces })
  context.emit({ type: 'login_started' })
  return answer(null, {
    status: 302,
    headers: { location: url.href },
    cookies: [...crowdedOut(context, request, cookie), cookie],
  })
}

/** Not a success, so that the browser does not keep it for the real visit. */
export function notNow(): Response {
  return failed(503, { code: 'aborted', message: 'This page is not prepared in advance.' })
}

/**
 * The page a login ends on. The page is requested with the Strict cookie and as same-origin, so that another site must not
 * choose it, unless the app takes links from other sites with its cookie anyway.
 */
function returnTo(context: BackendContext, request: Request): string {
  const { origin, sessionCookie } = context
  return sessionCookie.sameSite === 'Lax' || isOwnNavigation(request, origin) ? askedFor(context, request) : '/'
}

/** Judged as it will be kept: without dots, and with several characters for each letter outside ASCII. */
function askedFor({ basePath, origin }: BackendContext, request: Request): string {
  const target = new URL(request.url).searchParams.get('return_to') ?? '/'
  const { pathname, search, hash } = attempt(() => new URL(target, origin)) ?? new URL(origin)
  const length = pathname.length + search.length + hash.length
  return length > maxReturnTo || pathname.startsWith(`${basePath}/`) ? '/' : target
}
