import { isPromise } from '../../session/store.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'

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
  return new Records(sessions)
}

/** A class, so that the thousands of these in a process share their functions. */
class Records implements SessionRecords, TokenStorage {
  readonly storage: TokenStorage = this
  declare readonly withLock?: NonNullable<TokenStorage['withLock']>
  owed: string | undefined
  last: unknown
  isSettled = true
  #changes = 0
  readonly #sessions: TokenStorage

  constructor(sessions: TokenStorage) {
    this.#sessions = sessions
    if (sessions.withLock) this.withLock = sessions.withLock
  }

  getItem(name: string): ReturnType<TokenStorage['getItem']> {
    const read = this.#sessions.getItem(name)
    return isPromise(read) ? read.then((value) => this.#noted(value)) : this.#noted(read)
  }

  setItem(name: string, value: string): Promise<void> {
    return this.#change(value, () => this.#sessions.setItem(name, value))
  }

  removeItem(name: string): Promise<void> {
    return this.#change(undefined, () => this.#sessions.removeItem(name))
  }

  async #change(value: string | undefined, operation: () => unknown): Promise<void> {
    const change = ++this.#changes
    this.owed = value
    this.isSettled = false
    await operation()
    this.last = value
    // A slow change may end while a later one is in progress, whose outcome is the one that counts.
    if (change !== this.#changes) return
    this.owed = undefined
    this.isSettled = true
  }

  #noted<T>(value: T): T {
    this.last = value
    return value
  }
}
