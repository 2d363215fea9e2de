import type { AuthConfig } from '../config.ts'
import { isAgentAuthError } from '../errors.ts'
import type { StorageProblem } from '../events.ts'
import { bounded, runLocked, storageErrorOf } from '../storage/lock.ts'
import type { MaybePromise, TokenStorage } from '../storage/token-storage.ts'
import { lockTimeout } from './errors.ts'
import { decodeRecord, encodeRecord, type SessionRecord, type Stored } from './record.ts'

/** How long a session waits for the lock: longer than a refresh and the storage operations around it usually take. */
const maxLockWaitMs = 20_000

/**
 * The one record of a session in its storage. Operations fail with `storage_failed`, or with `config_invalid` if a storage of this
 * library throws that. Asynchronous ones have a time-out.
 */
export class SessionStore {
  private last: { readonly raw: unknown; readonly stored: Stored } | undefined
  private problem: StorageProblem | undefined

  constructor(
    private readonly storage: TokenStorage,
    private readonly name: string,
    private readonly emit: AuthConfig['emit'] = () => {},
  ) {}

  /** Whether every page and process that shares the record also shares the lock. */
  get hasCommonLock(): boolean {
    return !!this.storage.withLock
  }

  /** Returns the record at once if the storage does. */
  read(): MaybePromise<Stored> {
    try {
      const raw = this.storage.getItem(this.name)
      return isPromise(raw) ? bounded(async () => this.decode(await raw)) : this.decode(raw)
    } catch (error) {
      throw storageErrorOf(error)
    }
  }

  /** Must be called under the lock. */
  write(record: SessionRecord): Promise<void> {
    return bounded(async () => this.storage.setItem(this.name, encodeRecord(this.name, record)))
  }

  /** Called under the lock, except in a sign-out, which does not wait for it. */
  remove(): Promise<void> {
    return bounded(async () => this.storage.removeItem(this.name))
  }

  /** Runs the task under the lock of the record. Rejects as the task does, or with `lock_timeout` or `storage_failed`. */
  locked<T>(task: () => Promise<T>): Promise<T> {
    return runLocked(this.storage, this.name, task, { maxWaitMs: maxLockWaitMs, timedOut: lockTimeout })
  }

  /** Emits `storage_degraded`, unless this is the problem that was reported last. */
  report(reason: StorageProblem, error?: unknown): void {
    if (this.problem === reason) return
    this.problem = reason
    const cause = isAgentAuthError(error) && { cause: { code: error.code, message: error.message } }
    this.emit({ type: 'storage_degraded', reason, ...cause })
  }

  /** Notes that the storage works, so that the next problem is reported. */
  clear(): void {
    this.problem = undefined
  }

  private decode(raw: unknown): Stored {
    // Strings compare by value, so an unchanged record is not parsed again at each call.
    if (!this.last || typeof raw !== 'string' || raw !== this.last.raw)
      this.last = { raw, stored: decodeRecord(this.name, raw) }
    return this.last.stored
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
