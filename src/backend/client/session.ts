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

/** What is known about the user of a page. */
export interface CurrentState {
  /** What is known about the signed-in user. The same object until something changes. */
  readonly state: BackendClientState
  /** `claims` of the state, at the place where a `Session` has them. */
  readonly claims: BackendClientState['claims']
  /** Returns `state`. With `subscribe`, this makes the session a store, for example of `useSyncExternalStore`. */
  getSnapshot(): BackendClientState
  /** Calls the listener after each change of `state`. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
}

/** The session of the user of a page, as its backend reports it. */
export interface BackendClientSession extends CurrentState {
  /**
   * Resolves with the state when the backend has reported it. Write `await`: the promise itself has no `status`. On a server the
   * status is `loading`. Rejects with `temporarily_unavailable`, or with `storage_failed` if the backend cannot read the session.
   */
  ready(): Promise<BackendClientState>
}

interface BackendBody extends BackendClientState {
  readonly code?: string
  readonly endSessionUrl?: string
}

export interface SessionMethods extends Pick<BackendClientSession, 'ready'> {
  /** Resolves with the response to the logout. */
  signOut(query: string): Promise<BackendBody>
}

export type PageSession = [current: CurrentState, methods: SessionMethods, revalidate: () => Promise<void>]

/**
 * Keeps the state in sync with the backend and with other clients of this origin, until the signal fires. Returns the state, what a page
 * does with its session, and a function that asks the backend again and never rejects. On a server there is no page, and the state stays
 * `loading`.
 *
 * It does not poll. It reads at the start, when the page comes back, another client reports a change, a request gets 401, or the session
 * should end. A read that failed leaves the state, because the user may still be signed in, and is repeated after a wait that doubles.
 *
 * A sign-out, here or in another client, sets `heardReason`, and an end that a read then finds gets it as its reason. It is cleared when
 * a read that began with it succeeds, or when another client reports another change.
 *
 * The response of a read counts only if the state is still the one at its beginning, which `replaceable` holds during the read. After a
 * second sign-out, of a user who signed in again in another tab meanwhile, the state of this page is the same object. So a sign-out that
 * this page makes, or hears of while it shows one, clears `replaceable`, and the next read follows soon.
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
    async signOut(query) {
      heardReason = 'signed_out'
      try {
        const body = await callBackend(`${base}/logout${query}`, 'POST')
        replaceable = undefined
        apply({ status: 'signed-out', reason: 'signed_out' })
        return body
      } catch (error) {
        // The backend may have removed the cookie, and a read during the request may have cleared the reason.
        heardReason = 'signed_out'
        await revalidate()
        throw error
      }
    },
  }
  return [current, methods, revalidate]
}

/** Starts with `loading`. Returns the state and a function that changes it, which tells other pages the summary if that has changed. */
function currentState(
  summaryChanged: (summary: string) => void,
): [current: CurrentState, apply: (next: BackendClientState) => void] {
  const listeners = new Set<() => void>()
  let state: BackendClientState = { status: 'loading' }
  const current: CurrentState = {
    get state() {
      return state
    },
    getSnapshot: () => state,
    get claims() {
      return state.claims
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const apply = (next: BackendClientState): void => {
    const before = state
    if (JSON.stringify(next) === JSON.stringify(before)) return
    state = next
    const summary = summaryOf(next)
    if (summary !== summaryOf(before)) summaryChanged(summary)
    for (const listener of listeners) attempt(listener)
  }
  return [current, apply]
}

/** Returns the text that other pages get. It differs after another sign-in, or if no user is signed in. */
function summaryOf({ sessionRef, reason, status }: BackendClientState): string {
  return sessionRef ?? reason ?? status
}

/** Returns what the backend reports, and after the end of a session the reason, which it does not report. It stays until a user signs in. */
function withReason(
  next: BackendClientState,
  before: BackendClientState,
  heard: SessionEndReason | undefined,
): BackendClientState {
  const reason =
    before.status === 'signed-in' ? (heard ?? (leftMs(before) > 0 ? 'store_lost' : 'expired')) : before.reason
  return next.status === 'signed-out' && reason ? { ...next, reason } : next
}

/**
 * Returns the wait until the next read: a little more than the time left. If the backend still reports the session after that, this clock
 * is ahead, and the wait is the time since, so that it about doubles with each read.
 */
function nextReadMs(state: BackendClientState): number {
  return Math.abs(leftMs(state)) + firstBackoffMs
}

function leftMs({ endsAtMs = Infinity }: BackendClientState): number {
  return endsAtMs - Date.now()
}

/** Calls a route of the backend that responds with the state. Rejects with `temporarily_unavailable` or `storage_failed`. */
async function callBackend(path: string, method: 'GET' | 'POST'): Promise<BackendBody> {
  const signal = AbortSignal.timeout(defaultTimeoutMs)
  // `{}` if the network failed or the body is no JSON. The body of a backend's error has a `code` and no `status`.
  const body: BackendBody = Object(
    await fetch(path, { method, headers: { [csrfHeader]: '1' }, signal })
      .then((response) => response.json())
      .catch(() => {}),
  )
  if (/^signed-/.test(body.status)) return body
  throw new AgentAuthError(
    body.code === 'storage_failed' ? body.code : 'temporarily_unavailable',
    `${path} gave no session. Check basePath.`,
    { retryable: true },
  )
}

/**
 * Returns a function that reads once more, after a read in progress. Calls that wait for the same read share it. Each read is
 * repeated after the wait that it resolves with, in milliseconds, until the signal fires. `read` must not reject.
 */
function revalidation(read: () => Promise<number>, signal: AbortSignal): () => Promise<void> {
  let latest = Promise.resolve()
  let waiting: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const readOnce = async (): Promise<void> => {
    if (signal.aborted) return
    waiting = undefined
    clearTimeout(timer)
    timer = setTimeout(run, Math.min(await read(), maxTimerMs))
  }
  // A call joins a read that has not begun, but not one in progress, because that may have begun before the change that the call heard of.
  const run = (): Promise<void> => {
    latest = waiting ??= latest.then(readOnce)
    return latest
  }
  return run
}

interface PageListeners {
  /** Another client of this origin sent a text. */
  readonly received: (text: unknown) => void
  /** The page was in the background or in the back/forward cache, and is back. */
  readonly returned: () => void
  /** Ends the connection. */
  readonly signal: AbortSignal
}

/** Connects this page with the other clients of its origin. Returns a function that sends them a text. */
function openPageEvents(channelName: string, { received, returned, signal }: PageListeners): (text: string) => void {
  let channel: BroadcastChannel | undefined
  const join = (): void => {
    // Old browsers have none, and Firefox throws if it blocks site data.
    attempt(() => {
      channel ??= new BroadcastChannel(channelName)
      channel.onmessage = ({ data }) => received(data)
    })
  }
  const leave = (): void => {
    channel?.close()
    channel = undefined
  }
  // Only `pageshow` has `persisted`, which is false at the first load of a page. The other two events have none, and count.
  const onReturn = ({ persisted = true }: { persisted?: boolean }): void => {
    if (!persisted || document.hidden === true) return
    join()
    returned()
  }
  for (const type of ['focus', 'pageshow', 'visibilitychange'])
    addEventListener(type, onReturn as EventListener, { signal })
  // An open channel can keep a page out of the back/forward cache.
  addEventListener('pagehide', leave, { signal })
  signal.onabort = leave
  join()
  return (text) => channel?.postMessage(text)
}
