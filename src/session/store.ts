import type { AuthConfig } from '../config.ts'
import { isAgentAuthError } from '../errors.ts'
import type { StorageProblem } from '../events.ts'
import { bounded, runLocked, storageErrorOf } from '../storage/lock.ts'
import type { MaybePromise, TokenStorage } from '../storage/token-storage.ts'
import { lockTimeout } from './errors.ts'
import { decodeRecord, encodeRecord, type SessionRecord, type Stored } from './record.ts'

/** How long a session waits for the lock: longer than a refresh and the storage operations around it usually take. */
const maxLockWaitMs = 20_000

/** The one record of a session in its storage. */
export interface SessionStore {
  /** Whether every page and process that shares the record also shares the lock. */
  readonly hasCommonLock: boolean
  /** Returns the record at once if the storage does. */
  read(): MaybePromise<Stored>
  /** Must be called under the lock. */
  write(record: SessionRecord): Promise<void>
  /** Called under the lock, except in a sign-out, which does not wait for it. */
  remove(): Promise<void>
  /** Runs the task under the lock of the record. Rejects as the task does, or with `lock_timeout` or `storage_failed`. */
  locked<T>(task: () => Promise<T>): Promise<T>
  /** Emits `storage_degraded`, unless this is the problem that was reported last. */
  report(reason: StorageProblem, error?: unknown): void
  /** Notes that the storage works, so that the next problem is reported. */
  clear(): void
}

/**
 * Returns the store of a session. Operations fail with `storage_failed`, or with `config_invalid` if a storage of this library throws
 * that. Asynchronous ones have a time-out.
 */
export function sessionStore(storage: TokenStorage, name: string, emit: AuthConfig['emit'] = () => {}): SessionStore {
  let problem: StorageProblem | undefined
  let last: { readonly raw: unknown; readonly stored: Stored } | undefined
  const decode = (raw: unknown): Stored => {
    // Strings compare by value, so an unchanged record is not parsed again at each call.
    if (!last || typeof raw !== 'string' || raw !== last.raw) last = { raw, stored: decodeRecord(name, raw) }
    return last.stored
  }
  return {
    hasCommonLock: !!storage.withLock,
    read() {
      try {
        const raw = storage.getItem(name)
        return isPromise(raw) ? bounded(async () => decode(await raw)) : decode(raw)
      } catch (error) {
        throw storageErrorOf(error)
      }
    },
    write: (record) => bounded(async () => storage.setItem(name, encodeRecord(name, record))),
    remove: () => bounded(async () => storage.removeItem(name)),
    locked: (task) => runLocked(storage, name, task, { maxWaitMs: maxLockWaitMs, timedOut: lockTimeout }),
    report(reason, error) {
      if (problem === reason) return
      problem = reason
      const cause = isAgentAuthError(error) && { cause: { code: error.code, message: error.message } }
      emit({ type: 'storage_degraded', reason, ...cause })
    },
    clear() {
      problem = undefined
    },
  }
}

/** Returns what the storage holds, or undefined if the read fails. */
export function tryRead(store: Pick<SessionStore, 'read'>): Promise<Stored | undefined> {
  const read = async (): Promise<Stored> => store.read()
  return read().catch(() => undefined)
}

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
