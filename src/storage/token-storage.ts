/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>

/**
 * A storage of records. Each write must take effect as a whole or not at all. A session waits for an operation for a time only
 * (`maxStorageOperationMs`, 5 s). AsyncStorage and unstorage have these methods. For localStorage and sessionStorage use `webStorage` of
 * `agent-auth/browser`.
 */
export interface TokenStorage {
  /** Returns the record under this key, or null or undefined if there is none. */
  getItem(key: string): MaybePromise<string | null | undefined>
  /** Stores the record under this key. */
  setItem(key: string, value: string): MaybePromise<void>
  /** Removes the record under this key, if there is one. */
  removeItem(key: string): MaybePromise<void>
  /**
   * Runs the task while no other client of the records runs one under the same name. If `signal` is aborted before the lock is
   * acquired, the task does not run, and the promise rejects with the reason of the signal. Without this method the lock holds within one page or process.
   */
  withLock?<T>(name: string, task: () => Promise<T>, options?: { signal?: AbortSignal }): Promise<T>
}
