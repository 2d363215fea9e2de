import { inProcessLock } from './lock.ts'
import type { TokenStorage } from './token-storage.ts'

/** Creates a storage in memory, which lasts until the page or process ends. It is the default. */
export function memoryStorage(): TokenStorage {
  const items = new Map<string, string>()
  const storage: TokenStorage = {
    getItem: (key) => items.get(key) ?? null,
    setItem(key, value) {
      items.set(key, value)
    },
    removeItem(key) {
      items.delete(key)
    },
    withLock: (name, task, options) => inProcessLock(storage, name, task, options),
  }
  return storage
}
