import { AsyncLocalStorage } from 'node:async_hooks'
import { within } from '../deadline.ts'
import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { inProcessLock } from './in-process-lock.ts'
import { keepLease, type Lease, type LeaseTable, operationMs, takeLease } from './lease.ts'
import type { TokenStorage } from './token-storage.ts'

/** What a database that many processes share does for `leasedStorage`. Each operation is one atomic step. */
export interface RecordDatabase extends LeaseTable {
  /** With a lease: as the copy sees it that takes the writes. */
  read(key: string, lease: Lease | undefined): Promise<string | null>
  /** Whether it was written: with a lease, only while that is held. */
  write(key: string, value: string, lease: Lease | undefined): Promise<boolean>
  remove(key: string, lease: Lease | undefined): Promise<boolean>
  /** What of the database's own error may be shown: a code, nothing of a statement or a value. */
  reasonOf(error: unknown): string | undefined
}

/** A storage that many processes and machines share. Every operation rejects with `storage_failed` only. */
export interface SharedStorage extends TokenStorage {
  getItem(key: string): Promise<string | null>
  /** Inside a task of `withLock`: written only if that lock is still held. */
  setItem(key: string, value: string): Promise<void>
  /** Inside a task of `withLock`: removed only if that lock is still held. */
  removeItem(key: string): Promise<void>
  /** The waiting ends with `aborted` when the signal fires, and with `storage_failed` when the lock can't be asked for. */
  withLock<T>(name: string, task: () => Promise<T>, options?: { signal?: AbortSignal }): Promise<T>
  /** Resolves when records can be read, written and locked. Rejects with `storage_failed`. */
  ready(): Promise<void>
}

/** Locks with a lease that is renewed, and writes that count only while it is held. */
export function leasedStorage(database: RecordDatabase): SharedStorage {
  // Tells a write which turn it belongs to, also through whatever wraps this storage.
  const turns = new AsyncLocalStorage<Lease>()
  const bounded = <T>(operation: () => Promise<T>): Promise<T> =>
    within(operationMs, operation()).catch((error) => {
      throw failure(database, error)
    })
  const change = async (operation: (lease: Lease | undefined) => Promise<boolean>): Promise<void> => {
    const lease = turns.getStore()
    if (!(await bounded(() => operation(lease)))) throw lockLost()
  }
  const turn = async <T>(name: string, task: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
    const lease = { name, owner: crypto.randomUUID() }
    try {
      await takeLease(database, lease, signal)
    } catch (error) {
      throw isAgentAuthError(error) && error.code === 'aborted' ? error : failure(database, error)
    }
    const stop = keepLease(database, lease)
    try {
      return await turns.run(lease, task)
    } finally {
      stop()
      // Where this fails, the lease ends by itself.
      await bounded(() => database.release(lease)).catch(() => {})
    }
  }
  const storage: SharedStorage = {
    getItem: (key) => bounded(() => database.read(key, turns.getStore())),
    setItem: (key, value) => change((lease) => database.write(key, value, lease)),
    removeItem: (key) => change((lease) => database.remove(key, lease)),
    // One waiter of each process asks the database, the others queue behind it.
    withLock: (name, task, { signal } = {}) =>
      inProcessLock(storage, name, () => turn(name, task, signal), signal ? { signal } : {}),
    async ready() {
      const name = `ready:${crypto.randomUUID()}`
      const lease = { name, owner: name }
      if (!(await bounded(() => database.acquire(lease, operationMs)))) throw failure(database, undefined)
      await bounded(() => database.read(name, undefined))
      await bounded(() => database.release(lease))
    },
  }
  return storage
}

function lockLost(): AgentAuthError {
  return new AgentAuthError(
    'storage_failed',
    'The lock was lost before the write, so nothing was written. Try again.',
    {
      retryable: true,
    },
  )
}

/** The database's own error is dropped, since it may quote the record. */
function failure(database: RecordDatabase, error: unknown): AgentAuthError {
  const reason = isAgentAuthError(error) ? error.code : database.reasonOf(error ?? {})
  return new AgentAuthError(
    'storage_failed',
    `The shared storage did not do what it was asked (${reason ?? 'no code'}). See that it runs and may be written to; then try again.`,
    { retryable: true },
  )
}
