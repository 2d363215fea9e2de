import { type App, type ComputedRef, computed, type InjectionKey, inject, shallowRef } from 'vue'
import { invalid } from '../internal/values.ts'
import { type AuthView, createAuthStore, type PageAuth } from '../page/auth-store.ts'

export type { AuthView, PageAuth } from '../page/auth-store.ts'

/** The return value of `useAuth`: a ref for each member of `AuthView`, and functions of `auth`. */
export type VueAuth = Pick<PageAuth, 'signIn' | 'signOut' | 'fetch'> & {
  readonly [Name in keyof AuthView]: ComputedRef<AuthView[Name]>
}

const key: InjectionKey<VueAuth> = Symbol('agent-auth')

/** Returns the plugin for `useAuth`: `app.use(authPlugin(auth))`. Throws `config_invalid`. */
export function authPlugin(auth: PageAuth): { install(app: App): void } {
  const store = createAuthStore(auth, 'authPlugin')
  const { signIn, signOut, fetch } = auth
  return {
    install(app) {
      const view = shallowRef(store.getSnapshot())
      app.onUnmount(
        store.subscribe((next) => {
          view.value = next
        }),
      )
      const ref = <Name extends keyof AuthView>(name: Name) => computed(() => view.value[name])
      app.provide(key, { state: ref('state'), claims: ref('claims'), error: ref('error'), signIn, signOut, fetch })
    },
  }
}

/** Returns the state, sign-in, sign-out and the bearer fetch. For `setup`, also of a Pinia store. Throws `config_invalid` without the plugin. */
export function useAuth(): VueAuth {
  return inject(key, undefined) ?? invalid('useAuth needs app.use(authPlugin(auth)) and setup')
}
