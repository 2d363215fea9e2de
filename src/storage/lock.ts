import { abortable } from '../internal/timeouts.ts'
import type { TokenStorage } from './token-storage.ts'

/** The last holder of each name, per storage: two sessions over one storage must not refresh at once. */
const tails = new WeakMap<object, Map<string, Promise<unknown>>>()

/** First come, first served within this realm. Rejects with `aborted` when the signal fires before the turn. */
export function inProcessLock<T>(
  storage: TokenStorage,
  name: string,
  task: () => Promise<T>,
  { signal }: { signal?: AbortSignal } = {},
): Promise<T> {
  const names = tails.get(storage) ?? new Map<string, Promise<unknown>>()
  tails.set(storage, names)
  const before = names.get(name) ?? Promise.resolve()
  const work = abortable(before, signal).then(task)
  // A waiter that gave up is still behind the holder: only a tail whose turn has come may go.
  const tail = Promise.allSettled([before, work]).then(() => {
    if (names.get(name) === tail) names.delete(name)
  })
  names.set(name, tail)
  return work
}
