import { isAgentAuthError } from '../../errors.ts'
import { withTimeout } from '../../internal/timeouts.ts'
import { isPromise } from '../../session/store.ts'
import { memoryStorage } from '../../storage/memory.ts'
import type { MaybePromise, TokenStorage } from '../../storage/token-storage.ts'

export interface RecordListeners {
  /** The record was written or removed here. */
  changed(): void
  /** The storage cannot be used in this page; from now on records live in memory. */
  degraded(): void
}

/** How long the first reading may take: less than a session waits, which would not know whether anybody is signed in. */
const firstMs = 4_000

type Item = string | null | undefined

/** Tells of each change, and turns to memory when already the first reading fails or hangs: blocked, broken, not there. */
export function sharedRecord(inner: TokenStorage, { changed, degraded }: RecordListeners): TokenStorage {
  let used = inner
  let readable = false
  const fallBack = (error: unknown, key: string): MaybePromise<Item> => {
    // What was readable before may be again; a storage of this library says itself when it must be left alone.
    if (readable || (isAgentAuthError(error) && error.code !== 'timeout')) throw error
    if (used === inner) {
      used = memoryStorage()
      degraded()
    }
    return used.getItem(key)
  }
  const read = (item: Item): Item => {
    readable = true
    return item
  }
  const announce = (done: MaybePromise<void>): MaybePromise<void> => (isPromise(done) ? done.then(changed) : changed())
  return {
    getItem(key) {
      try {
        const item = used.getItem(key)
        if (!isPromise(item)) return read(item)
        return (readable ? item : withTimeout(firstMs, item)).then(read, (error) => fallBack(error, key))
      } catch (error) {
        return fallBack(error, key)
      }
    },
    setItem: (key, value) => announce(used.setItem(key, value)),
    removeItem: (key) => announce(used.removeItem(key)),
    ...(inner.withLock && {
      withLock: (name, task, options) => (used as Required<TokenStorage>).withLock(name, task, options),
    }),
  }
}
