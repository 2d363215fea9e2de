import { isAgentAuthError } from '../../errors.ts'
import { sleep, succeeds, withTimeout } from '../../internal/timeouts.ts'
import { decodeRecord, isRecord, isSame, type SessionRecord } from '../../session/record.ts'
import { isPromise } from '../../session/store.ts'
import { memoryStorage } from '../../storage/memory.ts'
import type { MaybePromise, TokenStorage } from '../../storage/token-storage.ts'

/** A session gives up later, so that the memory takes over first. */
const maxFirstUseMs = 4_000
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
  let isMemoryUsed = false
  let firstRead: Promise<Item> | undefined
  let hasRead = false
  let last: unknown

  function fallBack(reason: 'read_failed' | 'write_failed', error: unknown): void {
    // A library's error, such as that of a missing key, says that the record must stay as it is.
    if (isAgentAuthError(error) && error.code !== 'timeout') throw error
    if (used === memory) return
    used = memory
    degraded(reason)
    if (isMemoryUsed) removeLeft()
  }
  function note(item: Item): Item {
    hasRead = true
    last = item
    return item
  }
  function read(): MaybePromise<Item> {
    const removed = isOutdated ? inner.removeItem(name) : undefined
    return isPromise(removed) ? Promise.resolve(removed).then(() => inner.getItem(name)) : inner.getItem(name)
  }
  /** Safari may lose its connection to the database just then, and opens another one. */
  function readTwice(first: Promise<Item>): Promise<Item> {
    const twice = first.catch((error) => {
      if (isAgentAuthError(error)) throw error
      return sleep(readAgainMs).then(read)
    })
    return withTimeout(maxFirstUseMs, twice)
  }
  function readFirst(): MaybePromise<Item> {
    let first: MaybePromise<Item>
    try {
      first = read()
      if (!isPromise(first)) return note(first)
    } catch (error) {
      first = Promise.reject(error)
    }
    firstRead = readTwice(Promise.resolve(first)).then(note, (error) => {
      fallBack('read_failed', error)
      return memory.getItem(name)
    })
    return firstRead
  }
  function getItem(): MaybePromise<Item> {
    if (used === memory) return memory.getItem(name)
    if (!hasRead) return firstRead ?? readFirst()
    const item = inner.getItem(name)
    return isPromise(item) ? Promise.resolve(item).then(note) : note(item)
  }

  async function writeFirst(value: string): Promise<void> {
    const record = decodeRecord(name, value) as SessionRecord
    const write = async (): Promise<void> => {
      await inner.setItem(name, value)
      if (!isSame(decodeRecord(name, await inner.getItem(name)), record)) throw new Error('not there')
    }
    try {
      await withTimeout(maxFirstUseMs, write())
      isWritten = true
    } catch (error) {
      const stored = decodeRecord(name, last)
      // A refresh of the record that is stored: the session keeps its tokens, and writes them later.
      if (isRecord(stored) && stored.id === record.id) throw error
      fallBack('write_failed', error)
      await setItem(name, value)
    }
  }
  async function setItem(_: string, value: string): Promise<void> {
    if (used === inner) return isWritten ? inner.setItem(name, value) : writeFirst(value)
    if (!isMemoryUsed) removeLeft()
    return memory.setItem(name, value)
  }
  function removeLeft(): void {
    if (used === inner && hasRead) return
    isMemoryUsed = true
    // The read may still fail.
    if (used === inner) return
    const remove = async (): Promise<void> => inner.removeItem(name)
    remove().then(changed, () => {})
  }

  const storage: TokenStorage = {
    getItem,
    setItem: async (key, value) => setItem(key, value).then(changed),
    async removeItem() {
      await used.removeItem(name)
      changed()
    },
    ...(inner.withLock && {
      async withLock(lock, task, options) {
        // A browser that blocks the storage may block the lock as well.
        if (!hasRead) await succeeds((async () => getItem())())
        return (used as Required<TokenStorage>).withLock(lock, task, options)
      },
    }),
  }
  return {
    storage,
    isDegraded: () => used === memory,
    async tryAgain() {
      if (used === inner || isMemoryUsed) return
      const again = readTwice((async () => read())()).then(note)
      if ((await succeeds(again)) && !isMemoryUsed) used = inner
    },
    removeLeft,
  }
}
