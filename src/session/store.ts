import type { AuthConfig } from '../config.ts'
import type { AgentAuthError } from '../errors.ts'
import type { StorageProblem } from '../events.ts'
import { succeeds } from '../internal/timeouts.ts'
import { bounded, runLocked, storageErrorOf } from '../storage/lock.ts'
import type { MaybePromise, TokenStorage } from '../storage/token-storage.ts'
import { lockTimeout, maxLockWaitMs } from './errors.ts'
import { decodeRecord, encodeRecord, type SessionRecord, type Stored } from './record.ts'

/**
 * The one record of a session in its storage. Operations fail with `storage_failed`, or with `config_invalid` if a storage of this
 * library throws that. Asynchronous ones have a time-out.
 */
export class SessionStore {
  /** The error of the operation that failed last. */
  failure: AgentAuthError | undefined
  private last: { readonly raw: unknown; readonly stored: Stored } | undefined
  private reported: readonly StorageProblem[] = []

  constructor(
    private readonly storage: TokenStorage,
    private readonly name: string,
    private readonly emit: AuthConfig['emit'] = () => {},
  ) {}

  /** Whether every page and process that shares the record also shares the lock. */
  get lockReach(): 'everywhere' | 'here' {
    return this.storage.withLock ? 'everywhere' : 'here'
  }

  /** Returns the record at once if the storage does. */
  read(): MaybePromise<Stored> {
    try {
      const raw = this.storage.getItem(this.name)
      return isPromise(raw) ? this.noted(bounded(async () => this.decode(await raw))) : this.decode(raw)
    } catch (error) {
      this.failure = storageErrorOf(error)
      throw this.failure
    }
  }

  /** Must be called under the lock. */
  write(record: SessionRecord): Promise<void> {
    return this.noted(bounded(async () => this.storage.setItem(this.name, encodeRecord(this.name, record))))
  }

  /** Called under the lock, except in a sign-out, which does not wait for it. */
  remove(): Promise<void> {
    return this.noted(bounded(async () => this.storage.removeItem(this.name)))
  }

  /** Runs the task under the lock of the record. Rejects as the task does, or with `lock_timeout` or `storage_failed`. */
  async locked<T>(task: () => Promise<T>): Promise<T> {
    let work!: Promise<T>
    // It never rejects, so that `failure` is an error of the lock. An error of the task may come from a token request.
    const run = async (): Promise<void> => {
      work = task()
      await succeeds(work)
    }
    await this.noted(runLocked(this.storage, this.name, run, { maxWaitMs: maxLockWaitMs, timedOut: lockTimeout }))
    return work
  }

  /** Emits `storage_degraded`, unless this problem was reported before and not cleared since. */
  report(problem: StorageProblem): void {
    if (this.reported.includes(problem)) return
    this.reported = [...this.reported, problem]
    const { code, message } = this.failure ?? {}
    // The other problems come from a read that succeeded, so no operation has an error.
    const cause = code && message && problem.endsWith('_failed') ? { cause: { code, message } } : {}
    this.emit({ type: 'storage_degraded', reason: problem, ...cause })
  }

  /** Notes that these problems no longer exist, so that they are reported if they return. */
  clear(...problems: StorageProblem[]): void {
    this.reported = this.reported.filter((problem) => !problems.includes(problem))
  }

  private decode(raw: unknown): Stored {
    // Strings compare by value, so an unchanged record is not parsed again at each call.
    if (!this.last || typeof raw !== 'string' || raw !== this.last.raw)
      this.last = { raw, stored: decodeRecord(this.name, raw) }
    return this.last.stored
  }

  private noted<T>(work: Promise<T>): Promise<T> {
    return work.catch((error) => {
      this.failure = error
      throw error
    })
  }
}

export function sessionStore(storage: TokenStorage, name: string): SessionStore {
  return new SessionStore(storage, name)
}

/** Returns what the storage holds, or undefined if the read fails. */
export async function tryRead(store: Pick<SessionStore, 'read'>): Promise<Stored | undefined> {
  try {
    return await store.read()
  } catch {
    return undefined
  }
}

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
