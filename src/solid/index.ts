import { type Accessor, from } from 'solid-js'
import { type AuthView, createAuthStore, loadingView, type PageAuth } from '../page/auth-store.ts'

export type { AuthView, PageAuth } from '../page/auth-store.ts'

/**
 * Returns an accessor of state, claims and error. Call it in a component or a root, whose disposal ends the subscription.
 * Throws `config_invalid`.
 */
export function createAuthSignal(auth: PageAuth): Accessor<AuthView> {
  return from(createAuthStore(auth, 'createAuthSignal'), loadingView)
}
