import type { ServiceClock } from '../clock.ts'

export interface ThrottlePolicy {
  /** Failures without a delay. After them each one doubles it. */
  freeFailures: number
  firstDelayMs: number
  longestDelayMs: number
  /** Failures that may be under way at once, so that a burst cannot outrun the counting. */
  mostAtOnce: number
  /** An address keeps its failures: otherwise one own account would wash away guesses at others. */
  afterSuccess: 'forget' | 'keep'
}

export type Admission =
  | { kind: 'wait'; retryAfterMs: number }
  | {
      kind: 'go'
      /** `undecided` when nobody could say, because the database was away: that is nobody's failure. */
      settle(result: 'success' | 'failure' | 'undecided'): void
    }

export interface Throttle {
  admit(key: string): Admission
  clear(): void
  /** How many keys are remembered. */
  readonly size: number
}

interface Record {
  failures: number
  underWay: number
  blockedUntilMs: number
  forgetAtMs: number
}

const rememberMs = 60 * 60_000
const sweepFromSize = 10_000

/** Growing delays per key; a success forgets the failures, and so does an hour without one, after the last delay. */
export function createThrottle(clock: ServiceClock, policy: ThrottlePolicy): Throttle {
  const records = new Map<string, Record>()
  let sweepAtSize = sweepFromSize

  function recordOf(key: string, nowMs: number): Record {
    const known = records.get(key)
    if (known !== undefined && (known.forgetAtMs > nowMs || known.underWay > 0)) return known
    if (records.size >= sweepAtSize) sweep(nowMs)
    const fresh = { failures: 0, underWay: 0, blockedUntilMs: 0, forgetAtMs: nowMs + rememberMs }
    records.set(key, fresh)
    return fresh
  }
  function sweep(nowMs: number): void {
    for (const [key, record] of records) if (record.forgetAtMs <= nowMs && record.underWay === 0) records.delete(key)
    // Where nothing could go, looking again at each new key would take longer and longer.
    sweepAtSize = Math.max(sweepFromSize, 2 * records.size)
  }
  function settleFailure(record: Record): void {
    const nowMs = clock.nowMs()
    record.failures += 1
    record.forgetAtMs = nowMs + rememberMs
    const beyond = record.failures - policy.freeFailures
    if (beyond <= 0) return
    const delayMs = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** Math.min(beyond - 1, 30))
    record.blockedUntilMs = nowMs + delayMs
    record.forgetAtMs = Math.max(record.forgetAtMs, record.blockedUntilMs + rememberMs)
  }
  return {
    admit(key) {
      const nowMs = clock.nowMs()
      const record = recordOf(key, nowMs)
      if (record.blockedUntilMs > nowMs) return { kind: 'wait', retryAfterMs: record.blockedUntilMs - nowMs }
      if (record.underWay >= policy.mostAtOnce) return { kind: 'wait', retryAfterMs: policy.firstDelayMs }
      record.underWay += 1
      return {
        kind: 'go',
        settle(result) {
          record.underWay -= 1
          if (result === 'failure') settleFailure(record)
          else if (result === 'success' && policy.afterSuccess === 'forget') record.failures = 0
        },
      }
    },
    clear: () => records.clear(),
    get size() {
      return records.size
    },
  }
}
