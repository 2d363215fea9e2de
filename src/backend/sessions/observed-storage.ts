import { isPromise } from '../../session/store.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'

/** The storage of one session, and the records that the session wrote to it and read from it. */
export interface ObservedStorage {
  /** The storage as this session uses it. */
  readonly storage: TokenStorage
  /** The record whose write has failed or is in progress. */
  readonly pendingWrite: string | undefined
  /** What was written or read last: a text as it was written, or what the storage returned. Undefined after a removal. */
  readonly lastSeen: unknown
  /** Whether the last write or removal succeeded. `false` while one is in progress, `true` before the first one. */
  readonly hasLastChangeSucceeded: boolean
}

export function observedStorage(sessions: TokenStorage): ObservedStorage {
  return new Observed(sessions)
}

/** A class, because a process has thousands of these, which then share their functions. */
class Observed implements ObservedStorage, TokenStorage {
  /** The object is its own storage. */
  readonly storage: TokenStorage = this
  declare readonly withLock?: NonNullable<TokenStorage['withLock']>
  pendingWrite: string | undefined
  lastSeen: unknown
  hasLastChangeSucceeded = true
  #changes = 0
  readonly #sessions: TokenStorage

  constructor(sessions: TokenStorage) {
    this.#sessions = sessions
    if (sessions.withLock) this.withLock = sessions.withLock
  }

  getItem(name: string): ReturnType<TokenStorage['getItem']> {
    const read = this.#sessions.getItem(name)
    return isPromise(read) ? Promise.resolve(read).then((value) => this.#noted(value)) : this.#noted(read)
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
    this.hasLastChangeSucceeded = false
    await operation()
    this.lastSeen = value
    // A slow change may end while a later one is in progress, whose outcome is the one that counts.
    if (change !== this.#changes) return
    this.pendingWrite = undefined
    this.hasLastChangeSucceeded = true
  }

  #noted<T>(value: T): T {
    this.lastSeen = value
    return value
  }
}
