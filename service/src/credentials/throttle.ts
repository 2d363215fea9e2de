import { credentialLimits } from '../limits.ts'
import type { ServiceClock } from '../state/clock.ts'
import type { FailureRecord } from './failure-records.ts'
import { createFailureRecords } from './failure-records.ts'

/** How many failures are allowed, and what they cost. throttle-policies.ts has the figures for passwords and client secrets. */
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
  /**
   * Admits an attempt once earlier ones that could still use up the free failures have ended, or returns the wait. At one key
   * `attemptsWaiting`, 100 may wait, and `attemptsWaitingInAll`, 500 at all keys.
   */
  admit(key: string): Promise<Admitted | TooSoon>
  /** Returns how long the next attempt has to wait, or 0. */
  waitMs(key: string): number
  /** Counts an attempt that was not admitted here. */
  settle(key: string, result: AttemptResult): void
  clear(): void
  /** How many keys are remembered. */
  readonly size: number
}

/** Delays attempts at a key after failures. A success or enough time ends the delays. */
export function createThrottle(clock: ServiceClock, policy: ThrottlePolicy): Throttle {
  const records = createFailureRecords(clock, policy.rememberMs)
  let waiting = 0

  function count(key: string, record: FailureRecord, result: AttemptResult): void {
    if (result === 'success' && policy.afterSuccess === 'forget') record.failures = 0
    if (result !== 'failure') {
      forgetUnlessNeeded(key, record)
      return
    }
    record.failures += 1
    record.blockedUntilMs = clock.nowMs() + delayAfter(record.failures, policy)
    record.forgetAtMs = record.blockedUntilMs + policy.rememberMs
    records.remember(key, record)
  }
  function forgetUnlessNeeded(key: string, record: FailureRecord): void {
    const { failures, inProgress, blockedUntilMs } = record
    if (failures === 0 && inProgress === 0 && blockedUntilMs <= clock.nowMs()) records.forget(key, record)
  }
  function leave(key: string, record: FailureRecord, result: AttemptResult): void {
    record.inProgress -= 1
    count(key, record, result)
    // Each one checks again, in the order of arrival.
    for (const resume of record.waiting.splice(0)) resume()
  }
  return {
    async admit(key) {
      for (;;) {
        const record = records.of(key)
        const waitMs = record.blockedUntilMs - clock.nowMs()
        if (waitMs > 0) return { kind: 'wait', retryAfterMs: waitMs }
        // Even if all attempts in progress fail, there are no more failures than are free of a delay.
        if (record.inProgress === 0 || record.failures + record.inProgress < policy.freeFailures) {
          record.inProgress += 1
          return { kind: 'go', settle: (result) => leave(key, record, result) }
        }
        const { attemptsWaiting, attemptsWaitingInAll } = credentialLimits
        if (record.waiting.length >= attemptsWaiting || waiting >= attemptsWaitingInAll)
          return { kind: 'wait', retryAfterMs: policy.firstDelayMs }
        waiting += 1
        await new Promise<void>((resolve) => record.waiting.push(resolve))
        waiting -= 1
      }
    },
    waitMs: (key) => Math.max(0, (records.known(key)?.blockedUntilMs ?? 0) - clock.nowMs()),
    settle: (key, result) => count(key, records.of(key), result),
    clear: () => records.clear(),
    get size() {
      return records.size
    },
  }
}

function delayAfter(failures: number, { freeFailures, firstDelayMs, longestDelayMs, stop }: ThrottlePolicy): number {
  if (stop !== undefined && failures >= stop.failures) return stop.delayMs
  const beyond = failures - freeFailures
  if (beyond <= 0) return 0
  return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(beyond - 1, 30))
}
