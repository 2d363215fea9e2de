import type { TokenStorage } from '../../storage/token-storage.ts'

/** Returns a lock that all tabs of this origin share. Returns no lock if the browser has no Web Locks. */
export function webLock(): Pick<TokenStorage, 'withLock'> {
  if (!globalThis.navigator?.locks) return {}
  return { withLock: async (name, task, options) => navigator.locks.request(name, { ...options }, task) }
}
