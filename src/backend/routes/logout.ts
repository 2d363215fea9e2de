import { isAgentAuthError } from '../../errors.ts'
import { cookieLine } from '../cookies/cookies.ts'
import { findSession } from '../cookies/session-cookie.ts'
import { isGuarded } from '../fetch-metadata.ts'
import { ignoreOwn } from '../ignore-own.ts'
import type { BackendContext } from '../options.ts'
import { failed, failedWith, json } from '../responses.ts'
import { refreshTokensOf, revokeAll } from '../revocation.ts'
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
  const tokens = context.revocationEndpoint ? await refreshTokensOf(context, live, key) : []
  try {
    await live.session.signOut()
  } finally {
    context.emit({ type: 'logged_out', ...(await revokeAll(context, tokens)) })
  }
}

/** Whether no session has this key. Only a read, so that made-up cookies cost the store no lock and no write. */
async function isUnknown({ session }: LiveSession): Promise<boolean> {
  const state = await session.ready().catch(ignoreOwn)
  return state?.status === 'signed-out' && state.reason === undefined
}
