import { isPromise } from '../session/store.ts'
import type { TokenStorage } from '../storage/token-storage.ts'

/** What one session wrote to the store and read from it. */
export interface SessionRecords {
  /** The store as this session uses it. */
  readonly storage: TokenStorage
  /** The record whose write did not succeed, or not yet. */
  readonly owed: string | undefined
  /** The record that was last written or read, as the store gave it. */
  readonly last: unknown
  /** Whether the last write or removal succeeded. */
  readonly isSettled: boolean
}

export function sessionRecords(sessions: TokenStorage): SessionRecords {
  let owed: string | undefined
  let last: unknown
  let isSettled = true
  async function change(value: string | undefined, operation: () => unknown): Promise<void> {
    owed = value
    isSettled = false
    await operation()
    owed = undefined
    last = value
    isSettled = true
  }
  const storage: TokenStorage = {
    getItem(name) {
      const read = sessions.getItem(name)
      if (!isPromise(read)) return noted(read)
      return read.then(noted)
    },
    setItem: (name, value) => change(value, () => sessions.setItem(name, value)),
    removeItem: (name) => change(undefined, () => sessions.removeItem(name)),
    ...(sessions.withLock && { withLock: sessions.withLock }),
  }
  function noted<T>(value: T): T {
    last = value
    return value
  }
  return {
    storage,
    get owed() {
      return owed
    },
    get last() {
      return last
    },
    get isSettled() {
      return isSettled
    },
  }
}
