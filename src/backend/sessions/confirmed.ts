import { maxStorageOperationMs } from '../../internal/limits.ts'
import { isPromise } from '../../session/store.ts'
import { runLocked, storageFailed } from '../../storage/bounded.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import type { LockedStorage } from './watched-storage.ts'

/**
 * Returns whether a session has ended by a check that reads the storage. If an asynchronous check says so, it runs again under a
 * lock that this function alone takes, because a read outside of a lock may show a copy that lags behind. The wait is limited
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
