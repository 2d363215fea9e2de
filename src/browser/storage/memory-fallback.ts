import { isAgentAuthError } from '../../errors.ts'
import { sleep, succeeds, withTimeout } from '../../internal/timeouts.ts'
import { decodeRecord, isRecord, isSame, type SessionRecord } from '../../session/record.ts'
import { memoryStorage } from '../../storage/memory.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'

/** A session gives up later, so that the memory takes over first. */
const maxFirstUseMs = 4_000
/** Safari may lose its connection to the database just at the first read, and opens another one. */
const readAgainMs = 250

export interface StorageListeners {
  /** The record was written or removed here. */
  readonly changed: () => void
  /** The storage cannot be used in this page. From now on records live in memory. */
  readonly degraded: (reason: 'read_failed' | 'write_failed') => void
  /** Whether the record that the storage has must be removed before it is read. */
  readonly isOutdated: boolean
}

export interface FallbackStorage {
  readonly storage: TokenStorage
  /** Whether records live in memory. */
  isDegraded(): boolean
  /** Reads the storage again if records live in memory, and no user has signed in or out in this page since. */
  tryAgain(): Promise<void>
  /** Removes the record that stays in the storage while records live in memory, so that a reload shows no earlier user. */
  removeLeft(): void
}

type Item = string | null | undefined

/**
 * A page's storage of one record, until it shows that it cannot be used; then the memory of the page, until a reload. It cannot be
 * used if the first read fails twice or hangs, and if the first sign-in is not there after its write.
 */
export function fallbackStorage(inner: TokenStorage, name: string, listeners: StorageListeners): FallbackStorage {
  const { changed, degraded, isOutdated } = listeners
  const memory = memoryStorage()
  let used = inner
  let isWritten = false
  /** Whether a user has signed in or out while the storage was not read. */
  let isMemoryUsed = false
  let hasRead = false
  let firstRead: Promise<Item> | undefined
  let last: Item

  async function read(): Promise<Item> {
    if (isOutdated && !hasRead) await inner.removeItem(name)
    last = await inner.getItem(name)
    hasRead = true
    return last
  }
  function readTwice(): Promise<Item> {
    const twice = read().catch(async (error) => {
      if (isAgentAuthError(error)) throw error
      await sleep(readAgainMs)
      return read()
    })
    return withTimeout(maxFirstUseMs, twice)
  }
  function fallBack(reason: 'read_failed' | 'write_failed', error: unknown): void {
    // A library's error, such as that of a missing key, says that the record must stay as it is.
    if (isAgentAuthError(error) && error.code !== 'timeout') throw error
    if (used === memory) return
    used = memory
    degraded(reason)
    if (isMemoryUsed) removeLeft()
  }
  async function getItem(): Promise<Item> {
    if (used === memory) return memory.getItem(name)
    if (hasRead) return read()
    firstRead ??= readTwice().catch((error) => {
      fallBack('read_failed', error)
      return memory.getItem(name)
    })
    return firstRead
  }
  async function write(value: string): Promise<void> {
    if (used === inner) return isWritten ? inner.setItem(name, value) : writeFirst(value)
    if (!isMemoryUsed) removeLeft()
    return memory.setItem(name, value)
  }
  async function writeFirst(value: string): Promise<void> {
    const record = decodeRecord(name, value) as SessionRecord
    const writeAndRead = async (): Promise<void> => {
      await inner.setItem(name, value)
      if (!isSame(decodeRecord(name, await inner.getItem(name)), record)) throw new Error('not there')
    }
    try {
      await withTimeout(maxFirstUseMs, writeAndRead())
      isWritten = true
    } catch (error) {
      const stored = decodeRecord(name, last)
      // A refresh of the record that is stored: the session keeps its tokens, and writes them later.
      if (isRecord(stored) && stored.id === record.id) throw error
      fallBack('write_failed', error)
      await write(value)
    }
  }
  function removeLeft(): void {
    if (used === inner && hasRead) return
    isMemoryUsed = true
    // The first read may still show that the storage works.
    const remove = async (): Promise<void> => inner.removeItem(name)
    if (used === memory) remove().then(changed, () => {})
  }

  return {
    storage: {
      getItem,
      setItem: (_, value) => write(value).then(changed),
      async removeItem() {
        await used.removeItem(name)
        changed()
      },
      ...(inner.withLock && {
        async withLock(lock, task, options) {
          // A browser that blocks the storage may block the lock as well.
          if (!hasRead) await succeeds(getItem())
          return (used as Required<TokenStorage>).withLock(lock, task, options)
        },
      }),
    },
    isDegraded: () => used === memory,
    async tryAgain() {
      if (used === memory && !isMemoryUsed && (await succeeds(readTwice())) && !isMemoryUsed) used = inner
    },
    removeLeft,
  }
}
