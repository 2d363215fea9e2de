import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { succeeds, withTimeout } from '../internal/timeouts.ts'
import { withLock } from '../storage/lock.ts'
import type { MaybePromise, TokenStorage } from '../storage/token-storage.ts'
import { decodeRecord, encodeRecord, type SessionRecord, type Stored } from './record.ts'

const operationLimitMs = 5_000
const lockWaitMs = 20_000

/** The one record of a session in its storage. Every operation is bounded and rejects with `storage_failed` only. */
export interface SessionStore {
  /** Answers at once when the storage does. */
  read(): MaybePromise<Stored>
  write(record: SessionRecord): Promise<void>
  remove(): Promise<void>
  /** Rejects with `lock_timeout` when the lock was not had within 20 seconds. */
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
        return isPromise(raw) ? bounded(async () => raw).then(decode) : decode(raw)
      } catch (error) {
        throw failure(error)
      }
    },
    write: (record) => bounded(async () => storage.setItem(key, encodeRecord(key, record))),
    remove: () => bounded(async () => storage.removeItem(key)),
    locked: (task) => lockWithin(storage, key, task),
  }
}

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}

function lockWithin<T>(storage: TokenStorage, name: string, task: () => Promise<T>): Promise<T> {
  const waiting = new AbortController()
  const { signal } = waiting
  return new Promise<T>((resolve, reject) => {
    let work: Promise<T> | undefined
    let timer = setTimeout(() => {
      reject(
        new AgentAuthError('lock_timeout', 'Another holder kept the session locked. Try again.', { retryable: true }),
      )
      waiting.abort()
    }, lockWaitMs)
    // A lock lost meanwhile does not end the work: it is bounded, and its result counts.
    const settle = (): void => {
      clearTimeout(timer)
      if (work !== undefined) resolve(work)
      else reject(storageFailed())
    }
    const turn = async (): Promise<void> => {
      clearTimeout(timer)
      // A storage that ignores the signal must not start work nobody waits for.
      if (signal.aborted) return
      work = task()
      await succeeds(work)
      // Nor may a release that never ends keep the result.
      timer = setTimeout(settle, operationLimitMs)
    }
    const lock = async (): Promise<void> => withLock(storage, name, turn, { signal })
    lock().then(settle, settle)
  })
}

export function bounded<T>(operation: () => Promise<T>): Promise<T> {
  return withTimeout(operationLimitMs, operation()).catch((error) => {
    throw failure(error)
  })
}

/** A storage of this library knows better what to do; any other error is dropped, since it may quote the record. */
function failure(error: unknown): AgentAuthError {
  return isAgentAuthError(error) && error.code === 'storage_failed' ? error : storageFailed()
}

export function storageFailed(): AgentAuthError {
  return new AgentAuthError('storage_failed', 'The storage failed. Try again.', { retryable: true })
}
