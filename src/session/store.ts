import { isAgentAuthError } from '../errors.ts'
import { maxLockWaitMs, maxStorageOperationMs } from '../internal/limits.ts'
import { succeeds, withTimeout } from '../internal/timeouts.ts'
import { withLock } from '../storage/lock.ts'
import type { MaybePromise, TokenStorage } from '../storage/token-storage.ts'
import { lockTimeout, storageFailed } from './errors.ts'
import { decodeRecord, encodeRecord, type SessionRecord, type Stored } from './record.ts'

/** The one record of a session in its storage. Every operation has a time-out and rejects with `storage_failed` only. */
export interface SessionStore {
  /** Returns the record at once if the storage does. */
  read(): MaybePromise<Stored>
  /** Must be called under the lock. */
  write(record: SessionRecord): Promise<void>
  /**
   * Called under the lock, with two exceptions in a sign-out: its first removal, because a wait for the lock may be long, and
   * its last one if the lock failed.
   */
  remove(): Promise<void>
  /** Runs the task under the lock of the record. Rejects as the task does, or with `lock_timeout` or `storage_failed`. */
  locked<T>(task: () => Promise<T>): Promise<T>
}

export function sessionStore(storage: TokenStorage, key: string): SessionStore {
  let lastRaw: unknown
  let last: Stored = 'absent'
  const decode = (raw: unknown): Stored => {
    // Strings compare by value, so an unchanged record is not parsed again at each call.
    if (typeof raw !== 'string' || raw !== lastRaw) last = decodeRecord(key, raw)
    lastRaw = raw
    return last
  }
  return {
    read() {
      try {
        const raw = storage.getItem(key)
        return isPromise(raw) ? bounded(async () => decode(await raw)) : decode(raw)
      } catch (error) {
        throw asStorageFailed(error)
      }
    },
    write: (record) => bounded(async () => storage.setItem(key, encodeRecord(key, record))),
    remove: () => bounded(async () => storage.removeItem(key)),
    locked: (task) => runLocked(storage, key, task),
  }
}

/** Returns what the storage holds, or undefined if the read fails. */
export async function tryRead(store: SessionStore): Promise<Stored | undefined> {
  try {
    return await store.read()
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return undefined
  }
}

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}

/**
 * Runs the task inside the lock's own callback, because a storage with leases knows by that which lock a write belongs to.
 * A lock that is lost during the task does not end it, because the task has its own time-outs.
 */
async function runLocked<T>(storage: TokenStorage, name: string, task: () => Promise<T>): Promise<T> {
  const waiting = new AbortController()
  const { signal } = waiting
  // A member, because a promise of a promise would wait for the task.
  const run: { work?: Promise<T> } = {}
  let start = (): void => {}
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  const runTask = async (): Promise<void> => {
    // A storage that ignores the signal must not run a task after its caller gave up.
    if (signal.aborted) return
    run.work = task()
    start()
    await succeeds(run.work)
  }
  const lock = async (): Promise<void> => withLock(storage, name, runTask, { signal })
  const released = succeeds(lock())
  await withTimeout(maxLockWaitMs, Promise.race([started, released])).catch(() => {
    waiting.abort()
    throw lockTimeout()
  })
  const { work } = run
  // The lock was not acquired.
  if (!work) throw storageFailed()
  await succeeds(work)
  // The result counts even if the lock is lost, or never released.
  await succeeds(withTimeout(maxStorageOperationMs, released))
  return work
}

/** Runs one storage operation. Rejects with `storage_failed` if it fails, or takes longer than a storage operation may. */
export function bounded<T>(operation: () => Promise<T>): Promise<T> {
  return withTimeout(maxStorageOperationMs, operation()).catch((error) => {
    throw asStorageFailed(error)
  })
}

/** Keeps an error of a storage of this library, which says more. Discards any other, because it may quote the record. */
function asStorageFailed(error: unknown): Error {
  return isAgentAuthError(error) && error.code === 'storage_failed' ? error : storageFailed()
}
