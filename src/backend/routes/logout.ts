import { urlOfSessionEnd } from '../../end-session.ts'
import { isAgentAuthError } from '../../errors.ts'
import type { BackendContext } from '../context.ts'
import { cookieLine, readSessionCookie } from '../cookies.ts'
import { crossSite, passesCsrfChecks } from '../csrf.ts'
import { errorResponse, errorResponseOf, jsonResponse } from '../responses.ts'
import { endSession, endSessionsOf } from '../sessions/end-session.ts'
import { getSession } from '../sessions/get-session.ts'

/**
 * `POST {basePath}/logout`: ends the session, removes the cookie and revokes the refresh token. The logout succeeds even if
 * the revocation fails. If the record may still be stored, it responds with 503 and `storage_failed`, and removes the cookie as well.
 * With `everywhere` in the query, it ends all sessions of this user. With `at_service`, the response has the URL to which the page goes to
 * end the sign-in at the service as well, which returns to `return_to`. RFC 7009.
 */
export async function logout(context: BackendContext, request: Request): Promise<Response> {
  if (!passesCsrfChecks(request, context.origin)) return errorResponse(403, crossSite)
  const { key } = await readSessionCookie(context, request)
  const { searchParams } = new URL(request.url)
  const cookies = [cookieLine(context.sessionCookie)]
  try {
    if (key !== undefined) {
      if (searchParams.has('everywhere')) await endOthers(context, key)
      await endSession(context, key, (result) => context.emit({ type: 'logged_out', ...result }))
    }
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return errorResponseOf(error, cookies)
  }
  const returnTo = searchParams.get('return_to') ?? '/'
  const more = searchParams.has('at_service') && { endSessionUrl: urlOfSessionEnd(context.config, returnTo).href }
  return jsonResponse({ status: 'signed-out', ...more }, { cookies })
}

/** Ends all sessions of the user of a session. A token that names no subject has no others that could be found. */
async function endOthers(context: BackendContext, key: string): Promise<void> {
  const session = await getSession(context, { key })
  const subject = session.signedIn && session.claims?.subject
  if (subject) await endSessionsOf(context, subject)
}
