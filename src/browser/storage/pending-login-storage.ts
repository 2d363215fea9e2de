import { AgentAuthError } from '../../errors.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'

/**
 * Keeps pending logins in the sessionStorage of this page. Each operation reads the property, because that throws if the
 * browser blocks it. Rejects with `storage_failed` then, so that a login does not start.
 */
export const pageStorage: TokenStorage = {
  getItem: (key) => use((area) => area.getItem(key)),
  setItem: (key, value) => use((area) => area.setItem(key, value)),
  removeItem: (key) => use((area) => area.removeItem(key)),
}

function use<T>(operation: (area: Storage) => T): T {
  try {
    return operation(sessionStorage)
  } catch {
    throw new AgentAuthError(
      'storage_failed',
      'sessionStorage is blocked or full. Allow site data, or set loginStorage.',
      { retryable: true },
    )
  }
}
