import type { BackendContext } from '../context.ts'
import { readSessionCookie } from '../cookies/session-cookie.ts'
import { errorResponse, jsonResponse } from '../responses.ts'

/** The body of the response to `GET {basePath}/session`. */
export type SessionAnswer =
  | {
      readonly status: 'signed-in'
      /** The time by which the user must sign in again, in epoch milliseconds. */
      readonly endsAtMs: number
    }
  | { readonly status: 'signed-out' }

/** `GET {basePath}/session`: tells pages of the app whether a user is signed in. */
export async function session(context: BackendContext, request: Request): Promise<Response> {
  const site = request.headers.get('sec-fetch-site') ?? 'none'
  if (!/^(same-origin|none)$/.test(site))
    return errorResponse(403, {
      code: 'origin_forbidden',
      message: "Cross-site request rejected. Only pages of this app's origin may read the session.",
    })
  const { key, removal, endsAtMs } = await readSessionCookie(context, request)
  const state = key === undefined ? undefined : await context.live.use(key, (live) => live.session.ready())
  const body: SessionAnswer =
    state?.status === 'signed-in' ? { status: 'signed-in', endsAtMs } : { status: 'signed-out' }
  return jsonResponse(body, { cookies: removal })
}
