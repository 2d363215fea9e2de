import type { ServiceClock } from '../clock.ts'
import { hashToken } from '../credentials/secrets.ts'

export interface FailureRecord {
  failures: number
  underWay: number
  /** Attempts that wait for those under way. */
  waiting: (() => void)[]
  blockedUntilMs: number
  forgetAtMs: number
}

export interface FailureRecords {
  /** The record of a key, a new one if there is none or it is over. */
  of(key: string): FailureRecord
  /** The record of a key, if there is one that is not over. */
  known(key: string): FailureRecord | undefined
  forget(key: string): void
  /** Makes this key the last one that would make room for another. */
  renew(key: string): void
  clear(): void
  readonly size: number
}

const sweepFromSize = 10_000
/** The key that failed longest ago makes room for the next. */
export const mostFailureRecords = 100_000

export function createFailureRecords(clock: ServiceClock, rememberMs: number): FailureRecords {
  // In the order of their last failures.
  const records = new Map<string, FailureRecord>()
  let sweepAtSize = sweepFromSize

  function sweep(nowMs: number): void {
    for (const [id, record] of records) if (isOver(record, nowMs)) records.delete(id)
    // Where nothing could go, looking again at each new key would take longer and longer.
    sweepAtSize = Math.max(sweepFromSize, 2 * records.size)
  }
  function known(id: string): FailureRecord | undefined {
    const record = records.get(id)
    return record === undefined || isOver(record, clock.nowMs()) ? undefined : record
  }
  return {
    of(key) {
      const nowMs = clock.nowMs()
      const id = idOf(key)
      const record = known(id)
      if (record !== undefined) return record
      records.delete(id)
      if (records.size >= sweepAtSize) sweep(nowMs)
      if (records.size >= mostFailureRecords) records.delete(oldestIdle(records) ?? '')
      const fresh = { failures: 0, underWay: 0, waiting: [], blockedUntilMs: 0, forgetAtMs: nowMs + rememberMs }
      records.set(id, fresh)
      return fresh
    },
    known: (key) => known(idOf(key)),
    forget(key) {
      records.delete(idOf(key))
    },
    renew(key) {
      const record = records.get(idOf(key))
      if (record !== undefined && records.delete(idOf(key))) records.set(idOf(key), record)
    },
    clear: () => records.clear(),
    get size() {
      return records.size
    },
  }
}

/** A key may be as long as a form; its digest is not. */
function idOf(key: string): string {
  return hashToken(key)
}

/** Whose attempt is under way is remembered however long that takes. */
function isOver({ forgetAtMs, underWay }: FailureRecord, nowMs: number): boolean {
  return forgetAtMs <= nowMs && underWay === 0
}

function oldestIdle(records: Map<string, FailureRecord>): string | undefined {
  for (const [id, { underWay }] of records) if (underWay === 0) return id
  return undefined
}
