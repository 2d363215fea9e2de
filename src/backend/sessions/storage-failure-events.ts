import { isPromise } from '../../session/store.ts'
import { withLock } from '../../storage/lock.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'
import { causeOf } from '../error-cause.ts'
import type { BackendEvent, StorageOperation } from '../events.ts'

/** A storage with a lock. */
export type LockedStorage = TokenStorage & Required<Pick<TokenStorage, 'withLock'>>

/**
 * Returns a storage that does the same, and emits `storage_error` for each operation that fails. The events of the sessions are not enough,
 * because a session emits `storage_degraded` only once for each problem. Adds the lock of this process if the storage has none.
 */
export function watchedStorage(sessions: TokenStorage, emit: (event: BackendEvent) => void): LockedStorage {
  function failed(operation: StorageOperation, error: unknown): never {
    emit({ type: 'storage_error', operation, cause: causeOf(error) })
    throw error
  }
  function watched<T>(operation: StorageOperation, work: () => T): T {
    try {
      const result = work()
      return isPromise(result) ? (Promise.resolve(result).catch((error) => failed(operation, error)) as T) : result
    } catch (error) {
      return failed(operation, error)
    }
  }
  return {
    getItem: (name) => watched('getItem', () => sessions.getItem(name)),
    setItem: (name, value) => watched('setItem', () => sessions.setItem(name, value)),
    removeItem: (name) => watched('removeItem', () => sessions.removeItem(name)),
    async withLock(name, task, options) {
      try {
        // A storage without a lock serves one process, which the lock in memory covers.
        return await withLock(sessions, name, task, options)
      } catch (error) {
        // A caller that stopped waiting is not a failure of the storage. An error of the caller's task does not arrive here, because
        // `runLocked` wraps the task, and the wrapper never rejects (storage/time-limits.ts).
        if (options?.signal?.aborted) throw error
        return failed('withLock', error)
      }
    },
  }
}
