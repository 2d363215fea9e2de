import { isAgentAuthError } from '../../errors.ts'
import { cookieLine } from '../cookies/cookies.ts'
import { findSession } from '../cookies/session-cookie.ts'
import { unreachedCause } from '../error-cause.ts'
import type { LoggedOutEvent } from '../events.ts'
import { isGuarded } from '../fetch-metadata.ts'
import { ignoreOwn } from '../ignore-own.ts'
import type { BackendContext } from '../options.ts'
import { failed, failedWith, json } from '../responses.ts'
import { type EndingSession, endSession } from '../sessions/end-session.ts'
import type { LiveSession } from '../sessions/live-sessions.ts'

/** `POST {basePath}/logout`: the session goes first, then the cookie; revoking the token may fail. RFC 7009. */
export async function logout(context: BackendContext, request: Request): Promise<Response> {
  if (!isGuarded(request, context.origin))
    return failed(403, {
      code: 'origin_forbidden',
      message: 'Logout needs the header x-agent-auth: 1, from this origin.',
    })
  const { key } = await findSession(context, request)
  const cookies = [cookieLine(context.sessionCookie)]
  try {
    if (key !== undefined) await context.live.use(key, (live) => end(context, live, key))
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return failedWith(error, cookies)
  }
  return json({ status: 'signed-out' }, { cookies })
}

/** Rejects with `storage_failed` when the record may still be there; its token is revoked all the same. */
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

type RevocationResult = Pick<LoggedOutEvent, 'revocation' | 'cause'>

/** Returns `failed` also without a token, because one that could not be read may be valid. */
async function revokeAll(context: BackendContext, ending: EndingSession): Promise<RevocationResult> {
  try {
    // Loaded at the first logout, so that the start does not wait for it.
    const { revoke } = await import('../sessions/revocation-request.ts')
    const revoked = await Promise.all(ending.refreshTokens.map((token) => revoke(context, token)))
    const isDone = revoked.length > 0 && revoked.every(Boolean) && ending.otherTokens === 'none'
    return { revocation: isDone ? 'done' : 'failed' }
  } catch (error) {
    const cause = unreachedCause(error, context.revocationEndpoint as string, 'revocationEndpoint')
    return { revocation: 'failed', cause }
  }
}

/** Whether no session has this key. Only a read, so that made-up cookies cost the store no lock and no write. */
async function isUnknown({ session }: LiveSession): Promise<boolean> {
  const state = await session.ready().catch(ignoreOwn)
  return state?.status === 'signed-out' && state.reason === undefined
}
