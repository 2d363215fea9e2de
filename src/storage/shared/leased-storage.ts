import { AsyncLocalStorage } from 'node:async_hooks'
import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import { databaseTimeoutMs } from '../../internal/limits.ts'
import { withDeadline, withTimeout } from '../../internal/timeouts.ts'
import { invalid } from '../../internal/values.ts'
import { inProcessLock } from '../lock.ts'
import type { TokenStorage } from '../token-storage.ts'
import { keepLease, type Lease, type LeaseTable, takeLease } from './lease.ts'

/** The records in a database that processes share. Each operation is one atomic step. */
export interface RecordDatabase extends LeaseTable {
  /** Reads a record. `primary` is the copy that takes the writes. */
  read(key: string, from: 'any copy' | 'primary'): Promise<string | null>
  /** Writes a record; with a lease, only while its owner has it. Resolves to whether it did. */
  write(key: string, value: string, lease: Lease | undefined): Promise<boolean>
  /** Removes a record while the owner has the lease. Resolves to whether it did. */
  remove(key: string, lease: Lease): Promise<boolean>
  /** Removes a record that has this value. Resolves to whether it did. */
  removeIf(key: string, value: string): Promise<boolean>
  /**
   * Returns the code of the database's own error, never a part of a statement or a value. It is not asked about a
   * `storage_failed`, which the caller gets as it is.
   */
  reasonOf(error: unknown): string | undefined
}

/**
 * A storage that processes and machines share. Operations reject only with `storage_failed`, also if the database does not respond
 * (`databaseTimeoutMs`, 2,750 ms).
 */
export interface SharedStorage extends TokenStorage {
  /** Returns the record, or null. */
  getItem(key: string): Promise<string | null>
  /** Stores a record. Within a task of `withLock` with the same key, only while that task has the lock. */
  setItem(key: string, value: string): Promise<void>
  /** Removes a record. Within a task of `withLock` with the same key, only while that task has the lock. */
  removeItem(key: string): Promise<void>
  /** Runs the task under the lock. Rejects with the reason of the signal if it fires first, and with `storage_failed`. */
  withLock<T>(name: string, task: () => Promise<T>, options?: { signal?: AbortSignal }): Promise<T>
  /** Resolves if records can be read, written and locked. Rejects with `storage_failed`. */
  ready(): Promise<void>
}

/** A task under a lock. */
interface Task {
  readonly database: RecordDatabase
  readonly lease: Lease
  state: 'running' | 'over'
}

/**
 * Gives each write the lease of its task, also through a storage that wraps this one. One for all storages, because before Node 24
 * each AsyncLocalStorage that was ever used slows down all promises of the process.
 */
const tasks = /* @__PURE__ */ new AsyncLocalStorage<readonly Task[]>()

/** Returns the tasks that this code runs in. Code of the app, such as an event listener, may begin in a task and go on after it. */
function runningTasks(): readonly Task[] {
  return (tasks.getStore() ?? []).filter(({ state }) => state === 'running')
}

/** Creates a storage whose locks are leases. A task changes the record of its name only while it has its lease. */
export function leasedStorage(database: RecordDatabase): SharedStorage {
  const ownTasks = (): readonly Task[] => runningTasks().filter((task) => task.database === database)
  // A task may also write records of other names.
  const leaseOf = (key: string): Lease | undefined => ownTasks().find(({ lease }) => lease.name === key)?.lease
  const bounded = <T>(operation: () => Promise<T>): Promise<T> =>
    withTimeout(databaseTimeoutMs, operation()).catch((error) => {
      throw failure(database, error)
    })
  const whileHeld = async (operation: () => Promise<boolean>): Promise<void> => {
    if (!(await bounded(operation))) throw lockLost()
  }
  const runLeased = async <T>(name: string, task: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
    const lease = { name: encode(name), owner: crypto.randomUUID() }
    try {
      await takeLease(database, lease, signal)
    } catch (error) {
      throw signal?.aborted ? signal.reason : failure(database, error)
    }
    const stop = keepLease(database, lease)
    const own: Task = { database, lease, state: 'running' }
    try {
      return await tasks.run([...runningTasks(), own], task)
    } finally {
      stop()
      own.state = 'over'
      // If this fails, the lease ends by itself.
      await bounded(() => database.release(lease)).catch(() => {})
    }
  }
  const storage: SharedStorage = {
    async getItem(key) {
      const text = await bounded(() => database.read(encode(key), ownTasks().length > 0 ? 'primary' : 'any copy'))
      return text === null ? null : decode(text)
    },
    setItem: (key, value) => whileHeld(() => database.write(encode(key), encode(value), leaseOf(encode(key)))),
    async removeItem(key) {
      const name = encode(key)
      const lease = leaseOf(name)
      if (lease) await whileHeld(() => database.remove(name, lease))
      else await bounded(() => withDeadline(databaseTimeoutMs, (signal) => removeShown(database, name, signal)))
    },
    // One waiter of each process polls the database. The others wait for it.
    withLock: (name, task, { signal } = {}) =>
      inProcessLock(storage, name, () => runLeased(name, task, signal), signal ? { signal } : {}),
    async ready() {
      const name = `ready:${crypto.randomUUID()}`
      const lease = { name, owner: name }
      if (!(await bounded(() => database.acquire(lease, databaseTimeoutMs)))) throw failure(database, undefined)
      await bounded(() => database.read(name, 'any copy'))
      await bounded(() => database.release(lease))
    },
  }
  return storage
}

/**
 * Removes the record that is there now, and none that is written later, because without a lock a command can reach the database
 * long after its caller stopped waiting.
 */
async function removeShown(database: RecordDatabase, key: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const value = await database.read(key, 'primary')
    if (value === null || signal.aborted || (await database.removeIf(key, value))) return
  }
}

/** Marks text with a lone surrogate, which UTF-8 cannot hold, or NUL, which PostgreSQL cannot. It is stored as JSON in ASCII. */
const asJson = 'json:'

function encode(text: string): string {
  return /[\0\p{Surrogate}]/u.test(text) || text.startsWith(asJson) ? asJson + JSON.stringify(text) : text
}

function decode(text: string): string {
  return text.startsWith(asJson) ? String(JSON.parse(text.slice(asJson.length))) : text
}

function lockLost(): AgentAuthError {
  return new AgentAuthError(
    'storage_failed',
    'The lock was lost before the write, so nothing was written. Try again.',
    { retryable: true },
  )
}

/** Replaces the database's own error, because it may quote the record. */
function failure(database: RecordDatabase, error: unknown): AgentAuthError {
  if (isAgentAuthError(error) && error.code === 'storage_failed') return error
  const reason = isAgentAuthError(error) ? error.code : database.reasonOf(error ?? {})
  return new AgentAuthError(
    'storage_failed',
    `The database of the storage failed or did not respond (${reason ?? 'no code'}). Check that it runs and accepts writes, then try again.`,
    { retryable: true },
  )
}

/** Checks the option `ttlMs` of a shared storage. Throws `config_invalid`. */
export function checkTtlMs(ttlMs: number | undefined): void {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0))
    invalid('ttlMs must be a whole number of milliseconds above 0')
}
