import { firstBackoffMs, maxBackoffMs } from '../../internal/limits.ts'
import type { SessionEndReason } from '../../session/memory.ts'
import { type CurrentState, currentState } from './current.ts'
import { openPageEvents } from './page-events.ts'
import { callBackend } from './request.ts'
import { revalidation } from './revalidation.ts'
import { type BackendClientState, nextReadMs, summaryOf, withReason } from './state.ts'

/** The session of the user of a page, as its backend reports it. */
export interface BackendClientSession extends CurrentState {
  /**
   * Resolves with the state when the backend has reported it. Write `await`: the promise itself has no `status`. On a server the
   * status is `loading`. Rejects with `temporarily_unavailable`, or with `storage_failed` if the backend cannot read the session.
   */
  ready(): Promise<BackendClientState>
}

export interface SessionMethods extends Pick<BackendClientSession, 'ready'> {
  signOut(): Promise<void>
}

export type PageSession = [current: CurrentState, methods: SessionMethods, revalidate: () => Promise<void>]

/**
 * Keeps the state in sync with the backend and with other clients of this origin, until the signal fires. Returns the state, what a page
 * does with its session, and a function that asks the backend again and never rejects. On a server there is no page, and the state stays
 * `loading`.
 *
 * It does not poll. It reads at the start, when the page comes back, another client reports a change, a request gets 401 (client.ts), or
 * the session should end (`nextReadMs` in state.ts). A read that failed leaves the state, because the user may still be signed in, and is
 * repeated after a wait that doubles from `firstBackoffMs`, 500 ms, to `maxBackoffMs`, 30 s.
 *
 * A sign-out, here or in another client, sets `heardReason` to `signed_out`, and an end that a read then finds gets it as its reason. It
 * is cleared when a read that began with it succeeds, or when another client reports another change.
 *
 * The response of a read counts only if the state is still the one at its beginning, which `replaceable` holds during the read. One case
 * needs more. A page shows a sign-out, the user signs in again in another tab, a read begins here and will report `signed-in`, and then
 * the user signs out again. The second sign-out does not change the state of this page. So `replaceable` becomes undefined after
 * `signOut`, and when the page hears of a sign-out that it already shows. Then the response does not count, and the next read follows
 * after `firstBackoffMs`.
 */
export function pageSession(base: string, signal: AbortSignal): PageSession {
  let problem: unknown
  let failures = 0
  let heardReason: SessionEndReason | undefined
  let first: Promise<void> | undefined
  let send: ((summary: string) => void) | undefined
  let replaceable: BackendClientState | undefined
  const [current, apply] = currentState((summary) => send?.(summary))
  const revalidate = revalidation(async () => {
    replaceable = current.state
    const heardBefore = heardReason
    try {
      const next = await callBackend(`${base}/session`, 'GET')
      if (current.state === replaceable) apply(withReason(next, replaceable, heardReason))
      if (heardBefore) heardReason = undefined
      failures = 0
      return replaceable ? nextReadMs(current.state) : firstBackoffMs
    } catch (error) {
      problem = error
      return Math.min(firstBackoffMs * 2 ** failures++, maxBackoffMs)
    }
  }, signal)
  if (globalThis.document) {
    send = openPageEvents(base, {
      received(text) {
        if (text !== summaryOf(current.state)) {
          heardReason = text === 'signed_out' ? text : undefined
          void revalidate()
        } else if (text === 'signed_out') replaceable = undefined
      },
      returned: revalidate,
      signal,
    })
    first = revalidate()
  }
  const methods: SessionMethods = {
    async ready() {
      await (failures ? revalidate() : first)
      if (current.state.status === 'loading' && failures) throw problem
      return current.state
    },
    async signOut() {
      heardReason = 'signed_out'
      try {
        await callBackend(`${base}/logout`, 'POST')
      } catch (error) {
        // The backend may have removed the cookie, and a read during the request may have cleared the reason.
        heardReason = 'signed_out'
        await revalidate()
        throw error
      }
      replaceable = undefined
      apply({ status: 'signed-out', reason: 'signed_out' })
    },
  }
  return [current, methods, revalidate]
}
