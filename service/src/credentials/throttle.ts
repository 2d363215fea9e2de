import { credentialLimits } from '../limits.ts'
import type { ServiceClock } from '../state/clock.ts'
import { hashToken } from './secrets.ts'

/** How many failures are allowed, and what they cost. */
export interface ThrottlePolicy {
  /** Failures without a delay. After them each failure doubles the delay, and attempts go one at a time. */
  freeFailures: number
  firstDelayMs: number
  longestDelayMs: number
  /** How long failures are remembered after the last one and its delay. */
  rememberMs: number
  /** From so many failures in a row on, the delay is this one. */
  stop?: { failures: number; delayMs: number }
  /** An address keeps its failures. Otherwise a user could reset the count of guesses at others by signing in. */
  afterSuccess: 'forget' | 'keep'
}

export interface TooSoon {
  kind: 'wait'
  retryAfterMs: number
}

export interface Admitted {
  kind: 'go'
  /** `undecided` means that nothing was compared, which counts as no failure. */
  settle(result: AttemptResult): void
}

export type AttemptResult = 'success' | 'failure' | 'undecided'

export interface Throttle {
  /** Admits an attempt, or returns how long to wait: also while earlier ones could still use up the free failures. */
  admit(key: string): Admitted | TooSoon
  /** Returns how long the next attempt has to wait, or 0. */
  waitMs(key: string): number
  /** Counts an attempt that was not admitted here. */
  settle(key: string, result: AttemptResult): void
  clear(): void
}

interface FailureRecord {
  failures: number
  blockedUntilMs: number
  forgetAtMs: number
}

/** Delays attempts at a key after failures. A success or enough time ends the delays. */
export function createThrottle(clock: ServiceClock, policy: ThrottlePolicy): Throttle {
  // In the order of their last failures, so that the oldest one makes room.
  const failed = new Map<string, FailureRecord>()
  const inProgress = new Map<string, number>()

  function find(id: string): FailureRecord | undefined {
    const record = failed.get(id)
    return record === undefined || record.forgetAtMs <= clock.nowMs() ? undefined : record
  }
  function count(id: string, result: AttemptResult): void {
    if (result === 'success' && policy.afterSuccess === 'forget') failed.delete(id)
    if (result !== 'failure') return
    const failures = (find(id)?.failures ?? 0) + 1
    const blockedUntilMs = clock.nowMs() + delayAfter(failures, policy)
    failed.delete(id)
    if (failed.size >= credentialLimits.failedKeys) failed.delete(failed.keys().next().value ?? '')
    failed.set(id, { failures, blockedUntilMs, forgetAtMs: blockedUntilMs + policy.rememberMs })
  }
  function leave(id: string, result: AttemptResult): void {
    const others = (inProgress.get(id) ?? 1) - 1
    if (others === 0) inProgress.delete(id)
    else inProgress.set(id, others)
    count(id, result)
  }
  function waitOf(id: string): number {
    return Math.max(0, (find(id)?.blockedUntilMs ?? 0) - clock.nowMs())
  }
  return {
    admit(key) {
      const id = idOf(key)
      const waitMs = waitOf(id)
      if (waitMs > 0) return { kind: 'wait', retryAfterMs: waitMs }
      const others = inProgress.get(id) ?? 0
      // If all attempts in progress fail, there are no more failures than are free of a delay.
      if (others > 0 && (find(id)?.failures ?? 0) + others >= policy.freeFailures) {
        return { kind: 'wait', retryAfterMs: credentialLimits.attemptRetryMs }
      }
      inProgress.set(id, others + 1)
      return { kind: 'go', settle: (result) => leave(id, result) }
    },
    waitMs: (key) => waitOf(idOf(key)),
    settle: (key, result) => count(idOf(key), result),
    clear: () => failed.clear(),
  }
}

/** Returns a digest, because a key may be as long as a form. */
function idOf(key: string): string {
  return hashToken(key)
}

function delayAfter(failures: number, { freeFailures, firstDelayMs, longestDelayMs, stop }: ThrottlePolicy): number {
  if (stop !== undefined && failures >= stop.failures) return stop.delayMs
  const beyond = failures - freeFailures
  if (beyond <= 0) return 0
  return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(beyond - 1, 30))
}
