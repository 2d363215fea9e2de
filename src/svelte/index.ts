import { type AuthStore, createAuthStore, type PageAuth } from '../page/auth-store.ts'

export type { AuthStore, AuthView, PageAuth } from '../page/auth-store.ts'

/**
 * Returns a store of state, claims and error, for `$auth` in a component, `fromStore` and `get`. Create it once, beside `auth`.
 * Throws `config_invalid`.
 */
export function authStore(auth: PageAuth): AuthStore {
  return createAuthStore(auth, 'authStore')
}
