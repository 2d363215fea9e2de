import { maxStorageOperationMs } from '../../internal/limits.ts'
import { isPromise } from '../../session/store.ts'
import { runLocked, storageFailed } from '../../storage/time-limits.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import type { LockedStorage } from './storage-failure-events.ts'

/**
 * Asks a check, which reads the storage, whether a session has ended. If an asynchronous check says so, it asks again under a lock.
 * This lock keeps no write out. A storage with leases reads from its primary under any lock, and otherwise perhaps from a copy that
 * lags behind (storage/shared/leased-storage.ts). Only this function takes this lock, so there is almost no wait. The wait is limited
 * (`maxStorageOperationMs`, 5 s). Rejects as the check does, and with `storage_failed`.
 */
export function confirmed(
  sessions: LockedStorage,
  name: string,
  hasEnded: () => MaybePromise<boolean>,
): MaybePromise<boolean> {
  const checkAgain = (): Promise<boolean> =>
    runLocked(sessions, `${name}:newest`, async () => hasEnded(), {
      maxWaitMs: maxStorageOperationMs,
      timedOut: storageFailed,
    })
  const found = hasEnded()
  return isPromise(found) ? found.then((ended) => ended && checkAgain()) : found
}
