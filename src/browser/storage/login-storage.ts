import { AgentAuthError } from '../../errors.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'

/**
 * The sessionStorage of this page, looked up at each use because reading the property throws where the browser blocks it.
 * Rejects with `storage_failed`.
 */
export const pageStorage: TokenStorage = {
  getItem: (key) => reach(() => sessionStorage.getItem(key)),
  setItem: (key, value) => reach(() => sessionStorage.setItem(key, value)),
  removeItem: (key) => reach(() => sessionStorage.removeItem(key)),
}

function reach<T>(operation: () => T): T {
  try {
    return operation()
  } catch {
    throw new AgentAuthError(
      'storage_failed',
      'sessionStorage, where a login waits, is blocked or full. Allow site data for this page, or set the option loginStorage.',
      { retryable: true },
    )
  }
}
