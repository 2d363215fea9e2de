import { databaseTimeoutMs } from '../../internal/limits.ts'
import { abortable, randomFraction, sleep, withTimeout } from '../../internal/timeouts.ts'

/** How long a lease lasts. Others wait so long for a lock owner that crashed; two renewals can be lost before. */
export const leaseMs = 8_000
/** How often a lease is renewed. */
export const leaseRenewalMs = 2_000

const maxLeasePauseMs = 250

/** Waits between two requests for a lease, in milliseconds: the first one, and the longest one after doubling. */
const firstLeasePauseMs = 10

/** How long a lock owner renews its lease, in milliseconds. A task that takes longer than any refresh hangs. */
const maxLockMs = 90_000

/** The lease of one task. `owner` is new for each task. The task has the lock as long as the database holds this owner. */
export interface Lease {
  readonly name: string
  readonly owner: string
}

/**
 * The leases in a database, which uses its own clock. Each operation is one atomic step, with a time limit (`databaseTimeoutMs`,
 * 2,750 ms). If a process ends without releasing its lease, others get the lock when it runs out (`leaseMs`, 8 s).
 */
export interface LeaseTable {
  /** Takes a free lease. Resolves to whether this owner has it. */
  acquire(lease: Lease, leaseMs: number): Promise<boolean>
  /** Extends the lease of this owner. Resolves to whether this owner had it. */
  renew(lease: Lease, leaseMs: number): Promise<boolean>
  /** Frees the lease if this owner has it. */
  release(lease: Lease): Promise<unknown>
}

/**
 * Resolves when the lease is acquired. Asks again after a pause that doubles from `firstLeasePauseMs`, 10 ms, to `maxLeasePauseMs`,
 * 250 ms. Rejects with `aborted` if the signal fires first, and with the table's own errors.
 */
export async function takeLease(table: LeaseTable, lease: Lease, signal: AbortSignal | undefined): Promise<void> {
  for (let pauseMs = firstLeasePauseMs; ; pauseMs = Math.min(2 * pauseMs, maxLeasePauseMs)) {
    const asked = table.acquire(lease, leaseMs)
    try {
      if (await abortable(withTimeout(databaseTimeoutMs, asked), signal)) return
    } catch (error) {
      // The database may still grant the lease, which no task would then free.
      asked
        .catch(() => true)
        .then((isGranted) => isGranted && table.release(lease))
        .catch(() => {})
      throw error
    }
    await sleep(pauseMs * (0.5 + randomFraction()), signal)
  }
}

/**
 * Renews the lease (`leaseRenewalMs`, 2 s) until the returned function is called, the lease is lost, or the task hangs
 * (`maxLockMs`, 90 s).
 */
export function keepLease(table: LeaseTable, lease: Lease): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let renewalsLeft = maxLockMs / leaseRenewalMs
  const schedule = (): void => {
    if (renewalsLeft-- > 0) timer = setTimeout(renew, leaseRenewalMs).unref()
  }
  const renew = async (): Promise<void> => {
    const mine = timer
    // A database that does not respond may still hold the lease, so renew it further.
    const isKept = await withTimeout(databaseTimeoutMs, table.renew(lease, leaseMs)).catch(() => true)
    if (isKept && timer === mine) schedule()
  }
  schedule()
  return () => {
    clearTimeout(timer)
    timer = undefined
  }
}
