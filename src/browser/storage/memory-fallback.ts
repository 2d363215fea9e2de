import { isAgentAuthError } from '../../errors.ts'
import { sleep, succeeds, withTimeout } from '../../internal/timeouts.ts'
import { decodeRecord, type SessionRecord } from '../../session/record.ts'
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
  /** Reads the storage again, and uses it if no user has signed in or out in this page since records live in memory. */
  tryAgain(): Promise<void>
  /** Removes the record that stays in the storage while records live in memory, so that a reload shows no earlier user. */
  removeLeft(): Promise<void>
}

type Item = string | null | undefined

/**
 * A page's storage of one record, until it shows that it cannot be used; then the memory of the page, until a reload. It cannot be
 * used if the first read fails twice or hangs, and if a sign-in cannot be written or is not there after its write.
 */
export function fallbackStorage(inner: TokenStorage, name: string, listeners: StorageListeners): FallbackStorage {
  const { changed, degraded, isOutdated } = listeners
  const memory = memoryStorage()
  let used = inner
  let firstRead: Promise<Item> | undefined
  /** Whether the first read has shown which storage is used. */
  let isKnown = false
  let last: Item
  let isLeftRemoved = false

  async function read(): Promise<Item> {
    if (isOutdated && !isKnown) await used.removeItem(name)
    const item = await used.getItem(name)
    last = item
    return item
  }
  async function readFirst(): Promise<Item> {
    const twice = read().catch(async (error) => {
      if (isAgentAuthError(error)) throw error
      await sleep(readAgainMs)
      return read()
    })
    const item = await withTimeout(maxFirstUseMs, twice).catch((error) => fallBack('read_failed', error))
    isKnown = true
    return item
  }
  const idOf = (item: Item): string | undefined => (decodeRecord(name, item) as Partial<SessionRecord>).id
  function fallBack(reason: 'read_failed' | 'write_failed', error: unknown): undefined {
    // A library's error, such as that of a missing key, says that the record must stay as it is.
    if (isAgentAuthError(error) && error.code !== 'timeout') throw error
    used = memory
    degraded(reason)
  }
  function getItem(): Promise<Item> {
    if (isKnown) return read()
    firstRead ??= readFirst()
    return firstRead
  }
  async function write(value: string): Promise<void> {
    try {
      const written = async (): Promise<void> => {
        await used.setItem(name, value)
        // Some browsers acknowledge a write and keep nothing.
        if (idOf(last) !== idOf(value) && !(await used.getItem(name))) throw new Error('not there')
      }
      await withTimeout(maxFirstUseMs, written())
    } catch (error) {
      // A refresh of the record that is stored: the session keeps its tokens, and writes them later.
      if (idOf(last) === idOf(value)) throw error
      fallBack('write_failed', error)
      await memory.setItem(name, value)
    }
    changed()
    // Once, because another page may use the storage later.
    if (!isLeftRemoved) void removeLeft()
  }
  async function removeLeft(): Promise<void> {
    if (!isKnown) await succeeds(getItem())
    if (used === inner) return
    isLeftRemoved = true
    const remove = async (): Promise<void> => inner.removeItem(name)
    if (await succeeds(remove())) changed()
  }

  return {
    storage: {
      getItem,
      setItem: (_, value) => write(value),
      async removeItem() {
        await used.removeItem(name)
        last = undefined
        changed()
      },
      ...(inner.withLock && {
        async withLock(lock, task, options) {
          // A browser that blocks the storage may block the lock as well.
          if (!isKnown) await succeeds(getItem())
          return (used as Required<TokenStorage>).withLock(lock, task, options)
        },
      }),
    },
    isDegraded: () => used === memory,
    async tryAgain() {
      const readAgain = async (): Promise<void> => {
        if (isOutdated) await inner.removeItem(name)
        await inner.getItem(name)
      }
      // The memory counts once a user has signed in or out in this page.
      if (!isLeftRemoved && (await succeeds(withTimeout(maxFirstUseMs, readAgain()))) && !isLeftRemoved) used = inner
    },
    removeLeft,
  }
}
