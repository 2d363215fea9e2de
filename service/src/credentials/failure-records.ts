import { credentialLimits } from '../limits.ts'
import type { ServiceClock } from '../state/clock.ts'
import { hashToken } from './secrets.ts'

export interface FailureRecord {
  failures: number
  inProgress: number
  /** Attempts that wait for those in progress. */
  waiting: (() => void)[]
  blockedUntilMs: number
  forgetAtMs: number
}

export interface FailureRecords {
  /** Returns the record of a key. If there is none or it is over, makes one for as long as an attempt is in progress. */
  of(key: string): FailureRecord
  /** Returns the record of a key, if there is one that is not over. */
  known(key: string): FailureRecord | undefined
  /** Keeps a record as the one that failed last. Has no effect on a record from before `clear`. */
  remember(key: string, record: FailureRecord): void
  forget(key: string, record: FailureRecord): void
  clear(): void
  readonly size: number
}

const { failedKeys: maxFailedKeys, sweptKeys } = credentialLimits

/**
 * Keeps the keys that failed last (`failedKeys`, 100,000), in memory. It looks for those that are over from `sweptKeys`, 10,000 on.
 */
export function createFailureRecords(clock: ServiceClock, rememberMs: number): FailureRecords {
  // In the order of their last failures.
  const failed = new Map<string, FailureRecord>()
  // Keys cost a stranger nothing, so only a failure, which costs a hash, may push out another key.
  const untried = new Map<string, FailureRecord>()
  let sweepAtSize: number = sweptKeys

  function sweep(nowMs: number): void {
    for (const [id, record] of failed) if (isOver(record, nowMs)) failed.delete(id)
    // If few are over, a sweep at each new key would take longer and longer.
    sweepAtSize = Math.max(sweptKeys, 2 * failed.size)
  }
  function find(id: string): FailureRecord | undefined {
    const record = failed.get(id) ?? untried.get(id)
    return record === undefined || isOver(record, clock.nowMs()) ? undefined : record
  }
  /** False for a record that `clear` or another record of the same key has replaced. */
  function remove(id: string, record: FailureRecord): boolean {
    const records = [failed, untried].find((map) => map.get(id) === record)
    return records?.delete(id) ?? false
  }
  return {
    of(key) {
      const id = idOf(key)
      const record = find(id)
      if (record !== undefined) return record
      failed.delete(id)
      const forgetAtMs = clock.nowMs() + rememberMs
      const fresh = { failures: 0, inProgress: 0, waiting: [], blockedUntilMs: 0, forgetAtMs }
      untried.set(id, fresh)
      return fresh
    },
    known: (key) => find(idOf(key)),
    remember(key, record) {
      const id = idOf(key)
      if (!remove(id, record)) return
      if (failed.size >= sweepAtSize) sweep(clock.nowMs())
      if (failed.size >= maxFailedKeys) failed.delete(oldestIdle(failed) ?? '')
      failed.set(id, record)
    },
    forget: (key, record) => void remove(idOf(key), record),
    clear() {
      failed.clear()
      untried.clear()
    },
    get size() {
      return failed.size + untried.size
    },
  }
}

/** Returns a digest, because a key may be as long as a form. */
function idOf(key: string): string {
  return hashToken(key)
}

/** Returns whether a record can be removed. A record is kept while an attempt is in progress. */
function isOver({ forgetAtMs, inProgress }: FailureRecord, nowMs: number): boolean {
  return forgetAtMs <= nowMs && inProgress === 0
}

function oldestIdle(records: Map<string, FailureRecord>): string | undefined {
  for (const [id, { inProgress }] of records) if (inProgress === 0) return id
  return undefined
}
