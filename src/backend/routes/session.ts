import { findSession } from '../cookies/session-cookie.ts'
import type { BackendContext } from '../options.ts'
import { failed, json } from '../responses.ts'

/** What `GET {basePath}/session` answers. */
export type SessionAnswer =
  | {
      readonly status: 'signed-in'
      /** When the person must sign in again at the latest, in epoch milliseconds. */
      readonly endsAtMs: number
    }
  | { readonly status: 'signed-out' }

/** `GET {basePath}/session`: whether somebody is signed in, for the app's pages. */
export async function session(context: BackendContext, request: Request): Promise<Response> {
  const site = request.headers.get('sec-fetch-site') ?? 'none'
  if (!/^(same-origin|none)$/.test(site))
    return failed(403, { code: 'origin_forbidden', message: 'Only pages of this origin may ask.' })
  const { key, removal, endsAtMs } = await findSession(context, request)
  const state = key && (await context.live.use(key, (live) => live.session.ready()))
  const signedIn = state && state.status === 'signed-in'
  const told: SessionAnswer = signedIn ? { status: 'signed-in', endsAtMs } : { status: 'signed-out' }
  return json(told, { cookies: removal })
}
