import { isAgentAuthError } from '../../errors.ts'
import type { Clock } from '../../internal/clock.ts'
import { maxFirstReadMs, removalRetryMs } from '../../internal/limits.ts'
import { withTimeout } from '../../internal/timeouts.ts'
import { isRecord, signInMs } from '../../session/record.ts'
import { isPromise, sessionStore } from '../../session/store.ts'
import { memoryStorage } from '../../storage/memory.ts'
import type { MaybePromise, TokenStorage } from '../../storage/token-storage.ts'

export interface StorageListeners {
  /** The record was written or removed here. */
  readonly changed: () => void
  /** The storage cannot be used in this page. From now on records live in memory. */
  readonly degraded: () => void
}

type Item = string | null | undefined

/**
 * Reports each change. Falls back to memory if the first read fails or hangs (`maxFirstReadMs`, 4 s): the storage is blocked,
 * broken or missing.
 */
export function fallbackStorage(inner: TokenStorage, { changed, degraded }: StorageListeners): TokenStorage {
  let used = inner
  let isReadable = false
  const fallBack = (error: unknown, key: string): MaybePromise<Item> => {
    // A storage that was readable may become so again. An error of this library means that the record must stay as it is.
    if (isReadable || (isAgentAuthError(error) && error.code !== 'timeout')) throw error
    if (used === inner) {
      used = memoryStorage()
      degraded()
    }
    return used.getItem(key)
  }
  const read = (item: Item): Item => {
    isReadable = true
    return item
  }
  const report = (done: MaybePromise<void>): MaybePromise<void> =>
    isPromise(done) ? Promise.resolve(done).then(changed) : changed()
  return {
    getItem(key) {
      try {
        const item = used.getItem(key)
        if (!isPromise(item)) return read(item)
        const reading = Promise.resolve(item)
        const bounded = isReadable ? reading : withTimeout(maxFirstReadMs, reading)
        return bounded.then(read, (error) => fallBack(error, key))
      } catch (error) {
        return fallBack(error, key)
      }
    },
    setItem: (key, value) => report(used.setItem(key, value)),
    removeItem: (key) => report(used.removeItem(key)),
    ...(inner.withLock && {
      withLock: (name, task, options) => (used as Required<TokenStorage>).withLock(name, task, options),
    }),
  }
}

/** The record of an earlier sign-in that this page could not read. It must not come back after a sign-in or sign-out here. */
export interface UnreadRecord {
  /** Removes the record that the storage has now, if this page could not read it. If that fails, `retry` does it later. */
  remove(): void
  /** Repeats a removal that failed: by default at most once in `removalRetryMs`, 5 s, `now` in any case. */
  retry(when?: 'now'): void
}

export interface UnreadRecordOptions {
  readonly clock: Clock
  /** Whether the storage cannot be used in this page. If that shows only after `remove`, `retry` does the removal. */
  readonly isDegraded: () => boolean
  readonly removed: () => void
  /** A removal failed. Called again only after a removal has succeeded in between. */
  readonly failed: () => void
}

export function unreadRecord(
  storage: TokenStorage,
  name: string,
  { clock, isDegraded, removed, failed }: UnreadRecordOptions,
): UnreadRecord {
  const store = sessionStore(storage, name)
  /** The wall time of the removal that is pending. */
  let pendingSinceMs: number | undefined
  let nextMs = 0
  let hasFailed = false

  async function removeEarlier(): Promise<void> {
    const sinceMs = pendingSinceMs
    if (sinceMs === undefined) return
    const stored = await store.read()
    const isEarlier = isRecord(stored) ? signInMs(stored) <= sinceMs : stored === 'unreadable'
    if (isEarlier) await store.remove()
    if (pendingSinceMs === sinceMs) pendingSinceMs = undefined
    if (isEarlier) removed()
  }

  function retry(when?: 'now'): void {
    const nowMs = clock.monotonicMs()
    if (pendingSinceMs === undefined || !isDegraded() || (!when && nowMs < nextMs)) return
    nextMs = nowMs + removalRetryMs
    // The lock keeps another tab from signing in between the read and the removal.
    store.locked(removeEarlier).then(
      () => {
        hasFailed = false
      },
      () => {
        if (!hasFailed) failed()
        hasFailed = true
      },
    )
  }

  return {
    remove() {
      pendingSinceMs = clock.wallMs()
      retry('now')
    },
    retry,
  }
}
