import type { AgentAuthError } from '../errors.ts'
import { maxLockWaitMs } from '../internal/limits.ts'
import { succeeds } from '../internal/timeouts.ts'
import { bounded, runLocked, storageErrorOf } from '../storage/time-limits.ts'
import type { MaybePromise, TokenStorage } from '../storage/token-storage.ts'
import { lockTimeout } from './errors.ts'
import { decodeRecord, encodeRecord, type SessionRecord, type Stored } from './record.ts'

/**
 * The one record of a session in its storage. Reads and changes fail with `storage_failed`, or with `config_invalid` if a storage of
 * this library throws that. An error of such a storage stays as it is, also whether it is retryable.
 * Asynchronous reads and changes have a time-out.
 */
export interface SessionStore {
  /** Returns the record at once if the storage does. */
  read(): MaybePromise<Stored>
  /** Must be called under the lock. */
  write(record: SessionRecord): Promise<void>
  /**
   * Called under the lock, with two exceptions in a sign-out: its first removal, because a wait for the lock may be long, and
   * its last one if the removal under the lock failed.
   */
  remove(): Promise<void>
  /**
   * Runs the task under the lock of the record, for which it waits (`maxLockWaitMs`, 20 s). The task has no time limit of its own
   * here. Rejects as the task does, or with `lock_timeout` or `storage_failed`.
   */
  locked<T>(task: () => Promise<T>): Promise<T>
  /** The storage error of the read, write, removal or lock that failed last. */
  readonly failure: AgentAuthError | undefined
}

export function sessionStore(storage: TokenStorage, name: string): SessionStore {
  let lastRaw: unknown
  let last: Stored = 'absent'
  let failure: AgentAuthError | undefined
  const noted = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error) => {
      failure = error
      throw error
    })
  const decode = (raw: unknown): Stored => {
    // Strings compare by value, so an unchanged record is not parsed again at each call.
    if (typeof raw !== 'string' || raw !== lastRaw) last = decodeRecord(name, raw)
    lastRaw = raw
    return last
  }
  return {
    read() {
      try {
        const raw = storage.getItem(name)
        return isPromise(raw) ? noted(bounded(async () => decode(await raw))) : decode(raw)
      } catch (error) {
        failure = storageErrorOf(error)
        throw failure
      }
    },
    write: (record) => noted(bounded(async () => storage.setItem(name, encodeRecord(name, record)))),
    remove: () => noted(bounded(async () => storage.removeItem(name))),
    async locked<T>(task: () => Promise<T>): Promise<T> {
      let work!: Promise<T>
      // `run` never rejects, so that `noted` gets errors of the lock only. An error of the task may come from a token request.
      const run = (): Promise<boolean> => {
        work = task()
        return succeeds(work)
      }
      await noted(runLocked(storage, name, run, { maxWaitMs: maxLockWaitMs, timedOut: lockTimeout }))
      return work
    },
    get failure() {
      return failure
    },
  }
}

/** Returns what the storage holds, or undefined if the read fails. */
export async function tryRead(store: SessionStore): Promise<Stored | undefined> {
  try {
    return await store.read()
  } catch {
    return undefined
  }
}

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
