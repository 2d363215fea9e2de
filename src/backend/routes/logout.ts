import { isAgentAuthError } from '../../errors.ts'
import type { BackendContext } from '../context.ts'
import { cookieLine } from '../cookies/cookie-attributes.ts'
import { readSessionCookie } from '../cookies/session-cookie.ts'
import { crossSite, passesCsrfChecks } from '../csrf.ts'
import { errorResponse, errorResponseOf, jsonResponse } from '../responses.ts'
import { endSession } from '../sessions/end-session.ts'

/**
 * `POST {basePath}/logout`: ends the session, removes the cookie and revokes the refresh token. The logout succeeds even if
 * the revocation fails. If the record may still be stored, it responds with 503 and `storage_failed`, and removes the cookie as well.
 * RFC 7009.
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
  return jsonResponse({ status: 'signed-out' }, { cookies })
}
