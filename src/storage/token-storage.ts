/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>

/** Where records are kept. localStorage, sessionStorage, AsyncStorage and unstorage fit as they are. */
export interface TokenStorage {
  /** Returns the record under this key, or null or undefined if there is none. */
  getItem(key: string): MaybePromise<string | null | undefined>
  /** Stores the record under this key. */
  setItem(key: string, value: string): MaybePromise<void>
  /** Removes the record under this key, if there is one. */
  removeItem(key: string): MaybePromise<void>
  /**
   * Runs the task while nobody else who shares the records runs one under the same name. When `signal` fires before the
   * lock was had, the task does not run. Without it the lock is held within this realm only.
   */
  withLock?<T>(name: string, task: () => Promise<T>, options?: { signal?: AbortSignal }): Promise<T>
}
