import { AsyncLocalStorage } from 'node:async_hooks'
import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import { withDeadline } from '../../internal/timeouts.ts'
import { inProcessLock } from '../lock.ts'
import type { TokenStorage } from '../token-storage.ts'
import { keepLease, type Lease, type LeaseTable, operationMs, takeLease } from './lease.ts'

/** What a database that many processes share does for `leasedStorage`. Each operation is one atomic step. */
export interface RecordDatabase extends LeaseTable {
  /** `primary`: as the copy sees it that takes the writes. */
  read(key: string, from: 'any copy' | 'primary'): Promise<string | null>
  /** Whether it was written: with a lease, only while that is held. */
  write(key: string, value: string, lease: Lease | undefined): Promise<boolean>
  remove(key: string, lease: Lease): Promise<boolean>
  /** Whether it had this value and was removed. */
  removeIf(key: string, value: string): Promise<boolean>
  /** What of the database's own error may be shown: a code, nothing of a statement or a value. */
  reasonOf(error: unknown): string | undefined
}

/** A storage that many processes and machines share. Every operation rejects with `storage_failed` only. */
export interface SharedStorage extends TokenStorage {
  /** Returns the record, or null. */
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
  const bounded = <T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline(operationMs, operation).catch((error) => {
      throw failure(database, error)
    })
  const whileHeld = async (operation: () => Promise<boolean>): Promise<void> => {
    if (!(await bounded(operation))) throw lockLost()
  }
  const turn = async <T>(name: string, task: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
    const lease = { name: encode(name), owner: crypto.randomUUID() }
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
    async getItem(key) {
      const text = await bounded(() => database.read(encode(key), turns.getStore() ? 'primary' : 'any copy'))
      return text === null ? null : decode(text)
    },
    setItem: (key, value) => whileHeld(() => database.write(encode(key), encode(value), turns.getStore())),
    async removeItem(key) {
      const lease = turns.getStore()
      if (lease) await whileHeld(() => database.remove(encode(key), lease))
      else await bounded((signal) => removeShown(database, encode(key), signal))
    },
    // One waiter of each process asks the database, the others queue behind it.
    withLock: (name, task, { signal } = {}) =>
      inProcessLock(storage, name, () => turn(name, task, signal), signal ? { signal } : {}),
    async ready() {
      const name = `ready:${crypto.randomUUID()}`
      const lease = { name, owner: name }
      if (!(await bounded(() => database.acquire(lease, operationMs)))) throw failure(database, undefined)
      await bounded(() => database.read(name, 'any copy'))
      await bounded(() => database.release(lease))
    },
  }
  return storage
}

/**
 * Removes what stands there, and nothing that is written later: without a lock, a command may reach the database long after
 * its caller gave up.
 */
async function removeShown(database: RecordDatabase, key: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const value = await database.read(key, 'primary')
    if (value === null || signal.aborted || (await database.removeIf(key, value))) return
  }
}

/** Databases keep UTF-8, which has no lone surrogates: text that holds one is kept as JSON, which spells it in ASCII. */
const asJson = '\0json:'

function encode(text: string): string {
  return /\p{Surrogate}/u.test(text) || text.startsWith(asJson) ? asJson + JSON.stringify(text) : text
}

function decode(text: string): string {
  return text.startsWith(asJson) ? String(JSON.parse(text.slice(asJson.length))) : text
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
