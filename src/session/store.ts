import type { AuthConfig } from '../config.ts'
import type { AgentAuthError } from '../errors.ts'
import type { StorageProblem } from '../events.ts'
import { succeeds } from '../internal/timeouts.ts'
import { bounded, runLocked, storageErrorOf } from '../storage/time-limits.ts'
import type { MaybePromise, TokenStorage } from '../storage/token-storage.ts'
import { lockTimeout, maxLockWaitMs } from './errors.ts'
import { decodeRecord, encodeRecord, type SessionRecord, type Stored } from './record.ts'

/**
 * The one record of a session in its storage. Operations fail with `storage_failed`, or with `config_invalid` if a storage of this
 * library throws that. Asynchronous ones have a time-out.
 */
export interface SessionStore {
  /** Whether every page and process that shares the record also shares the lock. */
  readonly lockReach: 'everywhere' | 'here'
  /** Returns the record at once if the storage does. */
  read(): MaybePromise<Stored>
  /** Must be called under the lock. */
  write(record: SessionRecord): Promise<void>
  /** Called under the lock, except in a sign-out, which does not wait for it. */
  remove(): Promise<void>
  /** Runs the task under the lock of the record. Rejects as the task does, or with `lock_timeout` or `storage_failed`. */
  locked<T>(task: () => Promise<T>): Promise<T>
  /** The error of the operation that failed last. */
  readonly failure: AgentAuthError | undefined
  /** Emits `storage_degraded`, unless this problem was reported before and not cleared since. */
  report(problem: StorageProblem): void
  /** Notes that these problems no longer exist, so that they are reported if they return. */
  clear(...problems: StorageProblem[]): void
}

export function sessionStore(storage: TokenStorage, name: string, emit: AuthConfig['emit'] = () => {}): SessionStore {
  let lastRaw: unknown
  let last: Stored = 'absent'
  let failure: AgentAuthError | undefined
  let reported: readonly StorageProblem[] = []
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
    lockReach: storage.withLock ? 'everywhere' : 'here',
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
    report(problem) {
      if (reported.includes(problem)) return
      reported = [...reported, problem]
      const { code, message } = failure ?? {}
      // The other problems come from a read that succeeded, so no operation has an error.
      const cause = code && message && problem.endsWith('_failed') ? { cause: { code, message } } : {}
      emit({ type: 'storage_degraded', reason: problem, ...cause })
    },
    clear(...problems) {
      reported = reported.filter((problem) => !problems.includes(problem))
    },
  }
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
