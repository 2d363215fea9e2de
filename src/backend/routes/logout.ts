import { isAgentAuthError } from '../../errors.ts'
import type { BackendContext } from '../context.ts'
import { cookieLine } from '../cookies/cookies.ts'
import { readSessionCookie } from '../cookies/session-cookie.ts'
import { crossSite, passesCsrfChecks } from '../csrf.ts'
import { unreachedCause } from '../error-cause.ts'
import type { LoggedOutEvent } from '../events.ts'
import { errorResponse, errorResponseOf, jsonResponse } from '../responses.ts'
import { type EndingSession, endSession } from '../sessions/end-session.ts'
import type { LiveSession } from '../sessions/live-sessions.ts'

/**
 * `POST {basePath}/logout`: ends the session, removes the cookie and revokes the refresh token. The logout succeeds even if
 * the revocation fails. RFC 7009.
 */
export async function logout(context: BackendContext, request: Request): Promise<Response> {
  if (!passesCsrfChecks(request, context.origin)) return errorResponse(403, crossSite)
  const { key } = await readSessionCookie(context, request)
  const cookies = [cookieLine(context.sessionCookie)]
  try {
    if (key !== undefined) await context.live.use(key, (live) => end(context, live, key))
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return errorResponseOf(error, cookies)
  }
  return jsonResponse({ status: 'signed-out' }, { cookies })
}

/** Ends the session and revokes its tokens, also if it then rejects with `storage_failed` because the record may remain. */
async function end(context: BackendContext, live: LiveSession, key: string): Promise<void> {
  if (await isUnknown(live)) return
  const { revocationEndpoint } = context
  const ending = revocationEndpoint ? await endSession(context, live, key) : undefined
  try {
    await (ending?.signedOut ?? live.session.signOut())
  } finally {
    const result: RevocationResult = ending ? await revokeAll(context, ending) : { revocation: 'off' }
    context.emit({ type: 'logged_out', ...result })
  }
}

/** Returns whether no session has this key. It only reads, so that invented cookies cost the storage no lock and no write. */
async function isUnknown({ session }: LiveSession): Promise<boolean> {
  try {
    const { status, reason } = await session.ready()
    return status === 'signed-out' && reason === undefined
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return false
  }
}

type RevocationResult = Pick<LoggedOutEvent, 'revocation' | 'cause'>

/** Returns `failed` also without a token, because one that could not be read may be valid. */
async function revokeAll(context: BackendContext, ending: EndingSession): Promise<RevocationResult> {
  try {
    // The request is loaded at the first logout, so that the start does not wait for it.
    const { revoke } = await import('../sessions/revocation-request.ts')
    const revoked = await Promise.all(ending.refreshTokens.map((token) => revoke(context, token)))
    const isDone = revoked.length > 0 && revoked.every(Boolean) && ending.otherTokens === 'none'
    return { revocation: isDone ? 'done' : 'failed' }
  } catch (error) {
    const cause = unreachedCause(error, context.revocationEndpoint as string, 'revocationEndpoint')
    return { revocation: 'failed', cause }
  }
}
