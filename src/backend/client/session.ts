import { AgentAuthError } from '../../errors.ts'
import { defaultTimeoutMs } from '../../internal/limits.ts'
import { firstBackoffMs, maxBackoffMs, maxTimerMs } from '../../internal/timeouts.ts'
import { attempt } from '../../internal/values.ts'
import type { SessionEndReason, SessionState } from '../../session/memory.ts'
import { csrfHeader } from '../csrf.ts'

/** The state of a session that a backend keeps, as its page knows it. */
export interface BackendClientState extends SessionState {
  /** The time by which the user must sign in again, in epoch milliseconds of the backend's clock. */
  readonly endsAtMs?: number
}

/** The session of the user of a page, as its backend reports it. */
export interface BackendClientSession {
  /** What is known about the signed-in user. The same object until something changes. */
  readonly state: BackendClientState
  /** `claims` of the state, at the place where a `Session` has them. */
  readonly claims: BackendClientState['claims']
  /** Returns `state`. With `subscribe`, this makes the session a store, for example of `useSyncExternalStore`. */
  getSnapshot(): BackendClientState
  /** Calls the listener after each change of `state`. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
  /**
   * Resolves with the state when the backend has reported it. Write `await`: the promise itself has no `status`. On a server the
   * status is `loading`. Rejects with `temporarily_unavailable`, or with `storage_failed` if the backend cannot read the session.
   */
  ready(): Promise<BackendClientState>
}

interface BackendBody extends Omit<BackendClientState, 'reason'> {
  reason?: SessionEndReason
  readonly code?: string
  readonly endSessionUrl?: string
}

/**
 * Keeps the state in sync with the backend and with other clients of this origin, until the signal fires. The second function
 * asks the backend again and never rejects, the third one signs out. On a server there is no page, and the state stays `loading`.
 *
 * It does not poll. It reads at the start, when the page comes back, another client reports a change, a request gets 401, or the session
 * should end. A read that failed leaves the state, because the user may still be signed in, and is repeated after a wait that doubles.
 * The response of a read does not count if the user signed out during it, here or in another client.
 */
export function pageSession(base: string, signal: AbortSignal) {
  const listeners = new Set<() => void>()
  let state: BackendClientState = { status: 'loading' }
  /** Why the next end of the session is one, if the user signed out. The backend does not report it. */
  let heard: 'signed_out' | undefined
  let signOuts = 0
  let failures = 0
  let problem: unknown
  let reading = Promise.resolve()
  let waiting: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let send = (_summary: string): void => {}

  /** Shows the state, and tells other clients of it. */
  function apply(next: BackendClientState): void {
    if (JSON.stringify(next) === JSON.stringify(state)) return
    state = next
    send(summaryOf(next))
    for (const listener of listeners) attempt(listener)
  }

  /** Reads the session, and returns after how many milliseconds it should be read again. */
  async function read(): Promise<number> {
    const before = signOuts
    try {
      const next = await callBackend(`${base}/session`, 'GET')
      failures = 0
      if (before !== signOuts) return firstBackoffMs
      const ended = leftMs(state) > 0 ? 'store_lost' : 'expired'
      const reason = state.status === 'signed-in' ? (heard ?? ended) : state.reason
      if (next.status === 'signed-in') heard = undefined
      else if (reason) next.reason = reason
      apply(next)
      // A little after the time left. If the backend still reports the session then, this clock is ahead, and the wait about doubles.
      return firstBackoffMs + Math.abs(leftMs(state))
    } catch (error) {
      problem = error
      return Math.min(firstBackoffMs * 2 ** failures++, maxBackoffMs)
    }
  }

  /**
   * Reads once more, after a read in progress, because that may have begun before the change that the call heard of. Calls that wait for
   * the same read share it. Never rejects.
   */
  function revalidate(): Promise<void> {
    waiting ??= reading.then(async () => {
      if (signal.aborted) return
      waiting = undefined
      clearTimeout(timer)
      timer = setTimeout(revalidate, Math.min(await read(), maxTimerMs))
    })
    reading = waiting
    return reading
  }

  if (globalThis.document) {
    send = openPageEvents(base, signal, (summary) => {
      if (summary === 'signed_out') {
        heard = summary
        signOuts++
      }
      if (summaryOf(state) !== summary) void revalidate()
    })
    void revalidate()
  }

  const session: BackendClientSession = {
    get state() {
      return state
    },
    getSnapshot: () => state,
    get claims() {
      return state.claims
    },
    subscribe(listener) {
      // A wrapper for each call, because the same function may be subscribed twice.
      const own = (): void => listener()
      listeners.add(own)
      return () => listeners.delete(own)
    },
    async ready() {
      await (failures ? revalidate() : reading)
      if (problem && state.status === 'loading') throw problem
      return state
    },
  }

  /** Resolves with the response to the logout. */
  async function signOut(query: string): Promise<BackendBody> {
    try {
      const body = await callBackend(`${base}/logout${query}`, 'POST')
      signOuts++
      apply({ status: 'signed-out', reason: 'signed_out' })
      return body
    } catch (error) {
      // The backend may have removed the cookie.
      heard = 'signed_out'
      await revalidate()
      throw error
    }
  }

  return [session, revalidate, signOut] as const
}

/** Returns the text that other pages get. It differs after another sign-in, or if no user is signed in. */
function summaryOf({ sessionRef, reason, status }: BackendClientState): string {
  return sessionRef ?? reason ?? status
}

function leftMs({ endsAtMs = Infinity }: BackendClientState): number {
  return endsAtMs - Date.now()
}

/** Calls a route of the backend that responds with the state. Rejects with `temporarily_unavailable` or `storage_failed`. */
async function callBackend(path: string, method: 'GET' | 'POST'): Promise<BackendBody> {
  // Undefined if the network failed or the body is no JSON. The body of a backend's error has a `code` and no `status`.
  const init = { method, headers: { [csrfHeader]: '1' }, signal: AbortSignal.timeout(defaultTimeoutMs) }
  const body: BackendBody | undefined = await fetch(path, init)
    .then((response) => response.json())
    .catch(() => {})
  if (body && /^signed-/.test(body.status)) return body
  throw new AgentAuthError(
    body?.code === 'storage_failed' ? body.code : 'temporarily_unavailable',
    `${path} gave no session. Check basePath.`,
    { retryable: true },
  )
}

/**
 * Connects this page with the other clients of its origin, until the signal fires. `changed` gets the text of another client, and undefined
 * when the page was in the background or in the back/forward cache and is back. Returns a function that sends a text to the others.
 */
function openPageEvents(
  channelName: string,
  signal: AbortSignal,
  changed: (text?: unknown) => void,
): (text: string) => void {
  let channel: BroadcastChannel | undefined
  const join = (): void => {
    // Old browsers have none, and Firefox throws if it blocks site data.
    attempt(() => {
      channel ??= new BroadcastChannel(channelName)
      channel.onmessage = ({ data }) => changed(data)
    })
  }
  const leave = (): void => {
    channel?.close()
    channel = undefined
  }
  // Only `pageshow` has `persisted`, which is false at the first load of a page. The other two events have none, and count.
  const onReturn = ({ persisted }: { persisted?: boolean }): void => {
    // Compared, because an element with the name `hidden` would be truthy.
    if (persisted === false || document.hidden === true) return
    join()
    changed()
  }
  for (const type of ['focus', 'pageshow', 'visibilitychange'])
    addEventListener(type, onReturn as EventListener, { signal })
  // An open channel can keep a page out of the back/forward cache.
  addEventListener('pagehide', leave, { signal })
  signal.onabort = leave
  join()
  return (text) => channel?.postMessage(text)
}
