import { isPromise } from '../../session/store.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'

/** Records what one session writes to the storage and reads from it. */
export interface SessionRecords {
  /** The storage as this session uses it. */
  readonly storage: TokenStorage
  /** The record whose write has failed or is in progress. */
  readonly pendingWrite: string | undefined
  /** The record that was written or read last, as the storage returned it. */
  readonly lastSeen: unknown
  /** Whether the last write or removal succeeded. */
  readonly isSettled: boolean
}

export function sessionRecords(sessions: TokenStorage): SessionRecords {
  return new Records(sessions)
}

/** A class, because a process has thousands of these, which then share their functions. */
class Records implements SessionRecords, TokenStorage {
  readonly storage: TokenStorage = this
  declare readonly withLock?: NonNullable<TokenStorage['withLock']>
  pendingWrite: string | undefined
  lastSeen: unknown
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
    this.pendingWrite = value
    this.isSettled = false
    await operation()
    this.lastSeen = value
    // A slow change may end while a later one is in progress, whose outcome is the one that counts.
    if (change !== this.#changes) return
    this.pendingWrite = undefined
    this.isSettled = true
  }

  #noted<T>(value: T): T {
    this.lastSeen = value
    return value
  }
}
