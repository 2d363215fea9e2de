import { withLock } from '../../storage/lock.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'
import { causeOf } from '../error-cause.ts'
import type { BackendEvent, StorageOperation } from '../events.ts'

/** A storage with a lock. */
export type LockedStorage = TokenStorage & Required<Pick<TokenStorage, 'withLock'>>

/**
 * Returns a storage that does the same, and emits `storage_error` for each operation that fails, because a session emits
 * `storage_degraded` only once for each problem. Adds the lock of this process if the storage has none.
 */
export function watchedStorage(sessions: TokenStorage, emit: (event: BackendEvent) => void): LockedStorage {
  const watched = async <T>(operation: StorageOperation, work: () => T, signal?: AbortSignal): Promise<Awaited<T>> => {
    try {
      return await work()
    } catch (error) {
      // A caller that stopped waiting is not a failure of the storage.
      if (!signal?.aborted) emit({ type: 'storage_error', operation, cause: causeOf(error) })
      throw error
    }
  }
  return {
    getItem: (name) => watched('getItem', () => sessions.getItem(name)),
    setItem: (name, value) => watched('setItem', () => sessions.setItem(name, value)),
    removeItem: (name) => watched('removeItem', () => sessions.removeItem(name)),
    withLock: <T>(name: string, task: () => Promise<T>, options: { signal?: AbortSignal } = {}): Promise<T> =>
      watched('withLock', () => withLock(sessions, name, task, options), options.signal) as Promise<T>,
  }
}
