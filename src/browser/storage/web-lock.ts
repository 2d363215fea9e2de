import type { TokenStorage } from '../../storage/token-storage.ts'

/**
 * A lock that all tabs of this origin share, for a storage that they share too; nothing where the browser has no Web
 * Locks, and then the session is careful instead.
 */
export function webLock(): Pick<TokenStorage, 'withLock'> {
  if (!globalThis.navigator?.locks) return {}
  return { withLock: async (name, task, options) => navigator.locks.request(name, { ...options }, task) }
}
