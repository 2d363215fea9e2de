import type { TokenStorage } from '../../storage/token-storage.ts'

/**
 * Returns a lock that all tabs of this origin share, by the name of the record. Returns no lock if the browser has no Web Locks.
 * Then each tab has a lock of its own. Two tabs may refresh at once, and the loser takes over the tokens of the winner.
 */
export function webLock(): Pick<TokenStorage, 'withLock'> {
  if (!globalThis.navigator?.locks) return {}
  return { withLock: async (name, task, options) => navigator.locks.request(name, { ...options }, task) }
}
