import { type AgentAuthError, type AgentAuthErrorCode, isAgentAuthError } from '../errors.ts'
import { maxTimeoutMs } from '../internal/limits.ts'
import { abortable, backoffMs, sleep } from '../internal/timeouts.ts'
import { refreshTokens } from '../token-endpoint.ts'
import type { Tokens } from '../tokens.ts'
import { type Decision, freshness } from './decide-call.ts'
import { loginRequiredOrChanged, sessionEnded } from './errors.ts'
import type { CurrentRecord } from './memory.ts'
import { isSame } from './record.ts'
import { tryRead } from './store.ts'
import type { SessionParts } from './sync.ts'

/** How often one call sends a refresh in all while its outcome is `ambiguous`. The service accepts the same token for a while only. */
const maxAmbiguousOutcomes = 3
/** How often one call sends a required refresh in all while the service is busy, or while its responses are no JSON. */
const maxBusyResponses = 4
/** The errors that start no retry delay, because the lock was busy, or this session ended or was replaced. */
const undelayed: readonly AgentAuthErrorCode[] = ['lock_timeout', 'login_required', 'session_changed', 'session_ended']
/** How long a refused refresh waits for the tokens of another page or process, if they share no lock. */
const lateWriterMs = 1_000
/** How much older than the time of its request a new token may be: the request, and the read and the write after it. */
const maxAgeMs = maxTimeoutMs + 10_000

/** A required refresh is repeated if its outcome is `ambiguous`, `busy` or `foreign`, a proactive one only if it is `ambiguous`. */
export type Urgency = Extract<Decision, 'refresh_required' | 'refresh_proactively'>

/** The refresh of one session: one at a time for all callers, and one retry delay. */
export interface SharedRefresh {
  /**
   * Resolves when the current tokens are no longer those of `from`, so that the caller reads the current record. Rejects with the
   * error of the refresh, for example `session_ended`. `signal` ends only this wait.
   */
  wait(from: CurrentRecord, urgency: Urgency, signal?: AbortSignal | null): Promise<void>
  /**
   * Discards the refresh in progress and earlier failures: its callers do not wait any longer. It goes on under the lock, because the next
   * owner of the lock would send the same refresh token. If `removed` resolves to `true`, it is aborted, because that token is stored no more.
   */
  discard(removed?: Promise<boolean>): void
  /** Forgets earlier failures, so that the next call may send at once. */
  resetDelay(): void
}

export function sharedRefresh(parts: SessionParts): SharedRefresh {
  const { config, store, memory } = parts
  const { clock, timeoutMs, emit } = config
  /** The refresh in progress, and the sign-in whose token it refreshes. */
  let inFlight: { id: string; done: Promise<void>; discarded: AbortController } | undefined
  /** Aborts the request that was sent last, perhaps by a refresh that was discarded and still has the lock. */
  let request: AbortController | undefined
  /** The last failure. Until `delayedUntilMs`, calls that require a refresh reject with it, and others get the current token. */
  let failure: AgentAuthError | undefined
  let delayedUntilMs = 0
  let failures = 0

  function start(from: CurrentRecord): Promise<void> {
    // The storage has another sign-in.
    if (inFlight) discard(Promise.resolve(true))
    const [discarded, aborted] = [new AbortController(), new AbortController()]
    request = aborted
    const done = run(from, { discarded: discarded.signal, aborted: aborted.signal }).finally(() => {
      if (inFlight?.discarded === discarded) inFlight = undefined
      memory.notify()
    })
    inFlight = { id: from.id, done, discarded }
    return done
  }

  /** Runs one refresh under the lock. A failure starts the retry delay, and a success ends it. */
  async function run(from: CurrentRecord, signals: RefreshSignals): Promise<void> {
    try {
      const refreshed = store.locked(() => refreshUnderLock(parts, from, signals))
      await abortable(refreshed, signals.discarded)
      resetDelay()
    } catch (error) {
      // An error of the program is never reported as the end of a session.
      if (!isAgentAuthError(error)) throw error
      if (signals.discarded.aborted) throw loginRequiredOrChanged(memory)
      if (!undelayed.includes(error.code)) delay(error)
      throw error
    }
  }

  function delay(error: AgentAuthError): void {
    // Zero counts as absent, so that no refresh is repeated without a pause.
    const waitMs = error.details?.retryAfterMs || backoffMs(++failures)
    failure = error
    delayedUntilMs = clock.monotonicMs() + waitMs
    emit({ type: 'refresh_failed', code: error.code, waitMs })
  }

  function resetDelay(): void {
    failures = 0
    failure = undefined
  }

  function discard(removed?: Promise<boolean>): void {
    const [refresh, sent] = [inFlight, request]
    resetDelay()
    inFlight = undefined
    refresh?.discarded.abort()
    void removed?.then((isRemoved) => isRemoved && sent?.abort())
  }

  async function wait(from: CurrentRecord, urgency: Urgency, signal?: AbortSignal | null): Promise<void> {
    const startedMs = clock.monotonicMs()
    if (failure && startedMs < delayedUntilMs) throw failure
    // Why a loop: while a refresh waits for the lock, the session can take over newer tokens from the storage. A new call has these as
    // its `from`. It joins the waiting refresh, which began with older ones. That one finds that the tokens are newer, and sends no
    // request. So `from` is still the current record, and the loop starts a refresh of it.
    for (let attempts = 1; memory.record === from; attempts++) {
      try {
        await abortable(inFlight?.id === from.id ? inFlight.done : start(from), signal)
      } catch (error) {
        // No retry delay began, for example because only this caller stopped waiting.
        if (!failure || error !== failure) throw error
        const isAfterDeadline = delayedUntilMs - startedMs > timeoutMs
        if (isAfterDeadline || attempts >= maxAttempts(failure, urgency)) throw error
        await sleep(delayedUntilMs - clock.monotonicMs(), signal)
      }
    }
  }

  return { wait, discard, resetDelay }
}

/**
 * Returns how often one call may send in all: again with the same refresh token if the outcome is unknown, and for a required refresh also
 * while the service is busy or its response is no JSON. If the storage failed, the service was not reached, or it refuses the client, the
 * call sends no other request.
 */
function maxAttempts({ retryable, details }: AgentAuthError, urgency: Urgency): number {
  const outcome = details?.outcome
  if (!retryable || outcome === undefined || outcome === 'not_sent') return 1
  if (outcome === 'ambiguous') return maxAmbiguousOutcomes
  return urgency === 'refresh_required' ? maxBusyResponses : 1
}

interface RefreshSignals {
  /** Fires when the result must be discarded, because the session ended or another sign-in replaced it. */
  readonly discarded: AbortSignal
  /** Fires when the request must be aborted. */
  readonly aborted: AbortSignal
}

/**
 * Refreshes the tokens of `from`: read, send, read, write. Must be called under the lock.
 *
 * Of the responses, only a refused refresh token ends the session, unless another page or process has stored newer tokens or the storage
 * cannot be read. After any other failure the session stays.
 */
async function refreshUnderLock(
  parts: SessionParts,
  from: CurrentRecord,
  { discarded, aborted }: RefreshSignals,
): Promise<void> {
  const { config, store, memory, sync } = parts
  const throwIfDiscarded = (): void => {
    if (discarded.aborted || memory.record?.id !== from.id) throw loginRequiredOrChanged(memory)
  }

  // This also writes tokens that an earlier refresh could not save. Others have the refresh token before those, which the service accepts
  // only until the current one is used. If the write fails again, the request is sent all the same.
  const found = await sync.settle()
  throwIfDiscarded()
  const record = memory.record as CurrentRecord
  // Another page or process has refreshed the token before this refresh acquired the lock.
  if (record !== from && freshness(record, config.clock.monotonicMs()) !== 'expired') return
  // Another page or process may have used the refresh token.
  if (isAgentAuthError(found)) throw found

  let tokens: Tokens
  try {
    tokens = await refreshTokens(config, record.tokens, { signal: aborted })
  } catch (error) {
    throwIfDiscarded()
    if (!isAgentAuthError(error) || error.code !== 'grant_rejected') throw error
    if (await isReplaced(parts, record, discarded)) return
    if (discarded.aborted) throw loginRequiredOrChanged(memory)
    // Removed elsewhere: the refusal counts all the same.
    if (memory.record) memory.end('refused')
    await sync.settle()
    throw sessionEnded(error)
  }

  const next = { ...record, rev: record.rev + 1, tokens }
  // The next owner of the lock would send the same refresh token, if a sign-in here is not saved yet or a sign-out could not remove the
  // record. Both do so after this.
  if (discarded.aborted && isSame(await tryRead(store), record)) await store.write(next)
  throwIfDiscarded()
  memory.become(next, maxAgeMs)
  memory.unsaved = true
  // This writes them. If a sign-out or a sign-in elsewhere came first, or newer tokens because a lease ran out, that counts.
  await sync.settle()
  throwIfDiscarded()
}

/** Returns whether another page or process has stored other tokens, so that a refusal does not count. Rejects if the read fails. */
async function isReplaced(
  { store, memory, sync }: SessionParts,
  record: CurrentRecord,
  discarded: AbortSignal,
): Promise<boolean> {
  let found = await sync.settle()
  if (!store.hasCommonLock && memory.record === record) {
    // Another page or process may have refreshed as well, and its write may still be in progress.
    await sleep(lateWriterMs, discarded)
    found = await sync.settle()
  }
  if (isAgentAuthError(found)) throw found
  return !!memory.record && memory.record !== record
}
