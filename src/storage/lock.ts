import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { abortable, succeeds, withTimeout } from '../internal/timeouts.ts'
import type { TokenStorage } from './token-storage.ts'

/** How long one storage operation of a session may take, and the release of a lock. */
export const maxStorageOperationMs = 5_000

interface LockOptions {
  signal?: AbortSignal
}

/** The last lock owner of each name, per storage, because two sessions over one storage must not refresh at once. */
const tails = new WeakMap<object, Map<string, Promise<unknown>>>()

/**
 * Runs the task under the storage's own lock. A storage without one is locked within this page or process. The wait ends when `signal`
 * fires.
 */
export function withLock<T>(
  storage: TokenStorage,
  name: string,
  task: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  return storage.withLock?.(name, task, options) ?? inProcessLock(storage, name, task, options)
}

/** Runs tasks one after the other within this page or process. Rejects with the reason of the signal if it fires before the task runs. */
export function inProcessLock<T>(
  storage: TokenStorage,
  name: string,
  task: () => Promise<T>,
  { signal }: LockOptions = {},
): Promise<T> {
  const names = tails.get(storage) ?? new Map<string, Promise<unknown>>()
  tails.set(storage, names)
  const before = names.get(name) ?? Promise.resolve()
  const turn = abortable(before, signal).catch(() => {
    throw signal?.reason
  })
  const work = turn.then(task)
  // A waiter that was aborted is still behind the owner, so that its tail ends with the owner's.
  const tail = Promise.allSettled([before, work]).then(() => {
    if (names.get(name) === tail) names.delete(name)
  })
  names.set(name, tail)
  return work
}

/** Runs one storage operation. Rejects with `storage_failed` if it fails or takes too long. */
export function bounded<T>(operation: () => Promise<T>): Promise<T> {
  return withTimeout(maxStorageOperationMs, operation()).catch((error) => {
    throw storageErrorOf(error)
  })
}

/** Keeps the error of a storage of this library, which says more. Replaces any other, because it may quote the record. */
export function storageErrorOf(error: unknown): AgentAuthError {
  return isAgentAuthError(error) && ['storage_failed', 'config_invalid'].includes(error.code) ? error : storageFailed()
}

export function storageFailed(): AgentAuthError {
  return new AgentAuthError(
    'storage_failed',
    'The storage failed or did not respond in time. Check it, then try again.',
    { retryable: true },
  )
}

export interface LockWait {
  readonly maxWaitMs: number
  /** Makes the error of a lock that was not acquired in time. */
  readonly timedOut: () => AgentAuthError
}

/**
 * Runs the task inside the lock's own callback, because a storage with leases knows by that which lock a write belongs to.
 * A lock that is lost during the task does not end it, because the task has its own time-outs. Rejects as the task does, with
 * `timedOut()`, or as `storageErrorOf` says if the lock ends before the task starts.
 */
export async function runLocked<T>(
  storage: TokenStorage,
  name: string,
  task: () => Promise<T>,
  { maxWaitMs, timedOut }: LockWait,
): Promise<T> {
  const waiting = new AbortController()
  const { signal } = waiting
  let released = Promise.resolve()
  const started = new Promise<{ work: Promise<T> }>((resolve, reject) => {
    const runTask = async (): Promise<void> => {
      // A storage that ignores the signal must not run a task after its caller gave up.
      if (signal.aborted) return
      const work = task()
      resolve({ work })
      await succeeds(work)
    }
    const lock = async (): Promise<void> => withLock(storage, name, runTask, { signal })
    released = lock()
    released.then(reject, reject)
  })
  const { work } = await withTimeout(maxWaitMs, started).catch((error) => {
    waiting.abort()
    throw isAgentAuthError(error) && error.code === 'timeout' ? timedOut() : storageErrorOf(error)
  })
  await succeeds(work)
  // The result counts even if the lock is lost, or never released.
  await succeeds(withTimeout(maxStorageOperationMs, released))
  return work
}
