import { randomFraction } from '../../internal/backoff.ts'
import { abortable, sleep, withTimeout } from '../../internal/timeouts.ts'

/** One turn behind a lock. `owner` is new for each turn: where it stands in the database, the turn lasts. */
export interface Lease {
  readonly name: string
  readonly owner: string
}

/** How a database keeps leases by its own clock. Each operation is one atomic step. */
export interface LeaseTable {
  /** Whether the lease was free and now is this turn's. */
  acquire(lease: Lease, leaseMs: number): Promise<boolean>
  /** Whether it still was this turn's, and lasts anew. */
  renew(lease: Lease, leaseMs: number): Promise<boolean>
  /** Frees what is this turn's, and nothing else. */
  release(lease: Lease): Promise<unknown>
}

/** For one operation of the database: a call reads and asks for the lock, and must fail within 6 s. */
export const operationMs = 2_750
/** How long the others wait for a holder that died; two renewals may be lost before it ends. */
const leaseMs = 8_000
const renewEveryMs = 2_000
/** A turn that lasts longer than any refresh may is stuck: it is no longer renewed. */
const longestTurnMs = 90_000
const longestPauseMs = 250

/** Resolves when the lease was had. Rejects with `aborted` when the signal fires first, and with the table's own errors. */
export async function takeLease(table: LeaseTable, lease: Lease, signal: AbortSignal | undefined): Promise<void> {
  for (let pauseMs = 10; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    const asked = table.acquire(lease, leaseMs)
    try {
      if (await abortable(withTimeout(operationMs, asked), signal)) return
    } catch (error) {
      // What was asked for may be granted all the same, to a turn that never comes.
      asked
        .catch(() => true)
        .then((had) => had && table.release(lease))
        .catch(() => {})
      throw error
    }
    await sleep(pauseMs * (0.5 + randomFraction()), signal)
  }
}

/** Renews the lease until the returned function is called, it is lost, or the turn has lasted too long. */
export function keepLease(table: LeaseTable, lease: Lease): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let turnsLeft = longestTurnMs / renewEveryMs
  const schedule = (): void => {
    if (turnsLeft-- > 0) timer = setTimeout(renew, renewEveryMs).unref()
  }
  const renew = async (): Promise<void> => {
    const mine = timer
    // A database that does not answer may still hold the lease: only it knows, so go on asking.
    const kept = await withTimeout(operationMs, table.renew(lease, leaseMs)).catch(() => true)
    if (kept && timer === mine) schedule()
  }
  schedule()
  return () => {
    clearTimeout(timer)
    timer = undefined
  }
}
