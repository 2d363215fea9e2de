import { type AgentAuthError, type AgentAuthErrorCode, isAgentAuthError } from '../errors.ts'
import { maxAmbiguousOutcomes, maxBusyResponses } from '../internal/limits.ts'
import { abortable, sleep } from '../internal/timeouts.ts'
import type { CurrentRecord } from './current.ts'
import { loginRequiredOrChanged } from './errors.ts'
import { freshness } from './freshness.ts'
import type { SessionParts } from './parts.ts'
import { type LockReach, type RefreshOptions, refreshOnce } from './refresh.ts'
import { type RetryDelay, retryDelay } from './retry-delay.ts'
import { confirmWrite } from './save.ts'

/** A required refresh is repeated if its outcome is `ambiguous`, `busy` or `foreign`, a proactive one only if it is `ambiguous`. */
export type Urgency = 'required' | 'proactive'

/** The refreshes of one session: one at a time for all callers, and one retry delay. */
export interface RefreshRetries {
  /**
   * Resolves when the current tokens are no longer those of `from`, so that the caller reads the current record. Rejects with the
   * error of the refresh, for example `session_ended`. `signal` ends only this wait. A refresh waits for the lock of the record
   * (`maxLockWaitMs`, 20 s), and then rejects with `lock_timeout`. It holds the lock for its token request (`timeoutMs`) and the
   * storage operations around it. A lease ends by itself (lease.ts).
   */
  refresh(from: CurrentRecord, urgency: Urgency, signal?: AbortSignal | null): Promise<void>
  /** Cancels the refresh in progress, which then frees its lock, and resets at once. A write in progress keeps the lock until it ends. */
  cancel(): void
  /** Forgets earlier failures, so that the next call may send at once. */
  reset(): void
}

interface InFlight {
  /** The sign-in whose token it refreshes. A call for another sign-in, which was taken over from the storage, discards this refresh. */
  readonly id: string
  readonly done: Promise<void>
  readonly cancel: AbortController
}

/** The errors that start no retry delay, because the lock was busy, or this session ended or was replaced. */
const unscheduled: readonly AgentAuthErrorCode[] = [
  'lock_timeout',
  'login_required',
  'session_changed',
  'session_ended',
]

export function refreshRetries(parts: SessionParts, lockReach: LockReach): RefreshRetries {
  const { config, current } = parts
  const { clock, timeoutMs } = config
  const delay = retryDelay(config)
  let inFlight: InFlight | undefined

  function startRefresh(from: CurrentRecord): Promise<void> {
    inFlight?.cancel.abort()
    const cancel = new AbortController()
    const done = runRefresh(parts, from, { lockReach, signal: cancel.signal }, delay).finally(() => {
      if (inFlight?.cancel === cancel) inFlight = undefined
      // The lock is free, unless the refresh was cancelled, or another page or process has the lock.
      current.notify()
    })
    inFlight = { id: from.id, done, cancel }
    return done
  }

  return {
    async refresh(from, urgency, signal) {
      const startedMs = clock.monotonicMs()
      if (delay.failure && startedMs < delay.untilMs) throw delay.failure
      // Why a loop: while a refresh waits for the lock, the session can take over newer tokens from the storage. A new call has these as
      // its `from`. It joins the waiting refresh, which began with older ones. That one finds that the tokens are newer, and sends no
      // request. So `from` is still the current record, and the loop starts a refresh of it.
      for (let attempts = 1; current.record === from; attempts++) {
        try {
          await abortable(inFlight?.id === from.id ? inFlight.done : startRefresh(from), signal)
        } catch (error) {
          const { failure, untilMs } = delay
          // No retry delay began, for example because only this caller stopped waiting.
          if (!failure || error !== failure) throw error
          const isAfterDeadline = untilMs - startedMs > timeoutMs
          if (isAfterDeadline || attempts >= maxAttempts(failure, urgency)) throw error
          await sleep(untilMs - clock.monotonicMs(), signal)
        }
      }
    },
    cancel() {
      inFlight?.cancel.abort()
      delay.reset()
    },
    reset: delay.reset,
  }
}

/** Runs one refresh under the lock. A failure starts the retry delay, and a success ends it. Rejects with the error of the refresh. */
async function runRefresh(
  parts: SessionParts,
  from: CurrentRecord,
  options: RefreshOptions,
  delay: RetryDelay,
): Promise<void> {
  const { config, store, current, problems, sync } = parts
  const { signal } = options
  try {
    const work = store.locked(() => refreshOnce(parts, from, options))
    const refreshed = await abortable(work, signal)
    delay.reset()
    // No caller waits for `confirmWrite`, and it reports a failed read itself. It rejects only with an error of the program, which no
    // caller would get.
    if (refreshed === 'to_confirm') confirmWrite(parts).catch(() => problems.report('read_failed'))
  } catch (error) {
    // An error of the program is never reported as the end of a session.
    if (!isAgentAuthError(error)) throw error
    if (signal.aborted) throw loginRequiredOrChanged(current.record)
    // The lock owner may have refreshed the token during the wait. If not, this rejects, and `refreshedToken` (access-token.ts) returns the
    // current token if the refresh was proactive.
    if (error.code === 'lock_timeout') {
      await sync.revalidate('now')
      const now = current.record
      // A token of this sign-in that has expired again meanwhile is no token for the caller, so the wait failed. If the session ended or
      // is one of another sign-in, `refreshedToken` throws.
      const isExpired = now?.id === from.id && freshness(now, config.clock.monotonicMs()) === 'expired'
      if (now !== from && !isExpired) return
    }
    if (!unscheduled.includes(error.code)) delay.recordFailure(error)
    throw error
  }
}

/**
 * Returns how often one call may send in all. A refresh whose outcome is unknown (`ambiguous`) is sent again with the same refresh
 * token (`maxAmbiguousOutcomes`, 3 in all). A required one is also sent again while the service is `busy`, or its response is no JSON
 * (`foreign`) (`maxBusyResponses`, 4 in all). Each attempt starts within `timeoutMs` of the call, after the wait of retry-delay.ts.
 * If the service was not reached, or refuses the client, the call sends no other request.
 */
function maxAttempts({ retryable, details }: AgentAuthError, urgency: Urgency): number {
  const outcome = details?.outcome
  // Without an outcome it was the storage that failed. Such a failure fails the call at once (docs/sessions.md).
  if (!retryable || outcome === undefined || outcome === 'not_sent') return 1
  if (outcome === 'ambiguous') return maxAmbiguousOutcomes
  return urgency === 'required' ? maxBusyResponses : 1
}
