import { abortable } from '../internal/timeouts.ts'
import type { TokenStorage } from './token-storage.ts'

interface LockOptions {
  signal?: AbortSignal
}

/** The last lock owner of each name, per storage, because two sessions over one storage must not refresh at once. */
const tails = new WeakMap<object, Map<string, Promise<unknown>>>()

/**
 * Runs the task under the storage's own lock. A storage without one is locked within this page or process,
 * so that two of them may refresh at once. The loser takes over the tokens of the winner (`wasReplaced` in session/refresh.ts). The wait
 * ends when `signal` fires. The session sets its limit (`locked` in session/store.ts: 20 s, then `lock_timeout`).
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
