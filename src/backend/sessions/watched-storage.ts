import { isPromise } from '../../session/store.ts'
import { inProcessLock } from '../../storage/lock.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'
import { causeOf } from '../error-cause.ts'
import type { BackendEvent, StorageOperation } from '../events.ts'

/** A storage with a lock. */
export type LockedStorage = TokenStorage & Required<Pick<TokenStorage, 'withLock'>>

/**
 * The storage, with an event for each operation that fails: a session reports only that it goes on from memory, since the
 * error may quote the record.
 */
export function watchedStorage(sessions: TokenStorage, emit: (event: BackendEvent) => void): LockedStorage {
  function failed(operation: StorageOperation, error: unknown): never {
    emit({ type: 'storage_error', operation, cause: causeOf(error) })
    throw error
  }
  function watched<T>(operation: StorageOperation, work: () => T): T {
    try {
      const result = work()
      return isPromise(result) ? (result.then(undefined, (error) => failed(operation, error)) as T) : result
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
        // A storage without a lock serves one process, and the lock here covers all of that.
        return await (sessions.withLock?.(name, task, options) ?? inProcessLock(sessions, name, task, options))
      } catch (error) {
        // A caller that no longer waits is no failure of the storage.
        if (options?.signal?.aborted) throw error
        return failed('withLock', error)
      }
    },
  }
}
