import { endSessionUrl } from '../../end-session.ts'
import { isAgentAuthError } from '../../errors.ts'
import type { BackendContext } from '../context.ts'
import { cookieLine, readSessionCookie } from '../cookies.ts'
import { crossSite, passesCsrfChecks } from '../csrf.ts'
import { errorResponse, errorResponseOf, jsonResponse } from '../responses.ts'
import { endSession } from '../sessions/end-session.ts'

/**
 * `POST {basePath}/logout`: ends the session, removes the cookie and revokes the refresh token. The logout succeeds even if
 * the revocation fails. If the record may still be stored, it responds with 503 and `storage_failed`, and removes the cookie as well.
 * With `at_service` in the query, the response has the URL to which the page goes to end the sign-in at the service as well, which returns
 * to `return_to`. RFC 7009.
 */
export async function logout(context: BackendContext, request: Request): Promise<Response> {
  if (!passesCsrfChecks(request, context.origin)) return errorResponse(403, crossSite)
  const { key } = await readSessionCookie(context, request)
  const cookies = [cookieLine(context.sessionCookie)]
  try {
    if (key !== undefined) await endSession(context, key, (result) => context.emit({ type: 'logged_out', ...result }))
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return errorResponseOf(error, cookies)
  }
  const { searchParams } = new URL(request.url)
  const returnTo = searchParams.get('return_to') ?? '/'
  const more = searchParams.has('at_service') && { endSessionUrl: endSessionUrl(context.config, { returnTo }).href }
  return jsonResponse({ status: 'signed-out', ...more }, { cookies })
}
