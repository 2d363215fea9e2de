import type { TokenClaims } from '../../claims.ts'
import { present } from '../../internal/values.ts'
import type { BackendContext } from '../context.ts'
import { readSessionCookie } from '../cookies.ts'
import { errorResponse, jsonResponse } from '../responses.ts'
import type { LiveSession } from '../sessions/live-sessions.ts'

/** The body of the response to `GET {basePath}/session`. */
export type SessionAnswer =
  | {
      readonly status: 'signed-in'
      /** The time by which the user must sign in again, in epoch milliseconds. With `idleMs`, later if the session is used again. */
      readonly endsAtMs: number
      /** Identifies this sign-in: another sign-in changes it. Random, and not a secret. */
      readonly sessionRef?: string
      /** When the access token expires, in epoch milliseconds. The backend refreshes it. */
      readonly expiresAtMs?: number
      /** What the access token says about its user, unless it is not a JWT. Not verified: fit for display only. */
      readonly claims?: TokenClaims
    }
  | { readonly status: 'signed-out' }

/** `GET {basePath}/session`: tells pages of the app whether a user is signed in, and who. */
export async function session(context: BackendContext, request: Request): Promise<Response> {
  const site = request.headers.get('sec-fetch-site') ?? 'none'
  if (!/^(same-origin|none)$/.test(site))
    return errorResponse(403, {
      code: 'origin_forbidden',
      message: "Cross-site request rejected. Only pages of this app's origin may read the session.",
    })
  const { key, endsAtMs } = await readSessionCookie(context, request)
  const body = key === undefined ? undefined : await context.live.use(key, (live) => signedIn(context, live, endsAtMs))
  return jsonResponse(body ?? { status: 'signed-out' })
}

/** Notes no use: a page asks when the session should end and whenever its tab is shown, which must not keep the session alive. */
async function signedIn(
  { uses }: BackendContext,
  { name, session }: LiveSession,
  latestEndMs: number,
): Promise<SessionAnswer | undefined> {
  const { status, sessionRef, expiresAtMs } = await session.ready()
  if (status !== 'signed-in') return undefined
  const endsAtMs = Math.min(latestEndMs, uses?.endsAtMs(name) ?? latestEndMs)
  const { claims } = session
  return present<Extract<SessionAnswer, { status: 'signed-in' }>>({ status, endsAtMs, sessionRef, expiresAtMs, claims })
}
