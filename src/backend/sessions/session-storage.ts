import { throwBug } from '../../internal/timeouts.ts'
import { decodeRecord, isRecord, type SessionRecord } from '../../session/record.ts'
import { sessionStore } from '../../session/store.ts'
import { withLock } from '../../storage/lock.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'
import { causeOf } from '../error-cause.ts'
import type { BackendEvent, StorageOperation } from '../events.ts'
import { type RevocationTarget, revoke } from './revocation.ts'

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

interface Validity extends RevocationTarget {
  readonly endings: { isOver(record: SessionRecord): Promise<boolean> }
  /** Undefined if no session ends for lack of use. */
  readonly uses:
    | { isIdle(name: string, record: SessionRecord): Promise<boolean>; forget(name: string): unknown }
    | undefined
  emit(event: BackendEvent): void
}

/**
 * Returns a storage that shows no record of a session that is over. For a session in memory this is a sign-out elsewhere: it ends, and
 * saves nothing that a refresh in progress brings. An idle session is only hidden, because the clock of this machine may be wrong.
 */
export function validSessions(watched: LockedStorage, { endings, uses, emit, ...target }: Validity): LockedStorage {
  /** Removes the record of an ended session and revokes its refresh token. If the storage fails, the next request tries again. */
  async function removeEnded(name: string, { id }: SessionRecord): Promise<void> {
    const store = sessionStore(watched, name)
    let removed: SessionRecord | undefined
    // Under the lock, because a refresh in progress may still replace the token to revoke.
    const remove = async (): Promise<void> => {
      const stored = await store.read()
      if (!isRecord(stored) || stored.id !== id) return
      await store.remove()
      removed = stored
    }
    await store.locked(remove).catch(throwBug)
    if (removed) emit({ type: 'ended_session_removed', ...(await revoke(target, [removed.tokens.refreshToken])) })
  }

  return {
    ...watched,
    async getItem(name) {
      const raw = await watched.getItem(name)
      const record = decodeRecord(name, raw)
      if (!isRecord(record)) return raw
      if (await endings.isOver(record)) {
        void removeEnded(name, record)
        return null
      }
      return (await uses?.isIdle(name, record)) ? null : raw
    },
    async removeItem(name) {
      await watched.removeItem(name)
      await uses?.forget(name)
    },
  }
}
