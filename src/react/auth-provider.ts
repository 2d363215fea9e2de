import {
  type Context,
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useMemo,
  useSyncExternalStore,
} from 'react'
import { checkNames, invalid } from '../internal/values.ts'
import { type AuthView, createAuthStore, loadingView, type PageAuth } from '../page/auth-store.ts'

/** The return value of `useAuth`. It is the same object until the state or the error changes. */
export interface ReactAuth extends AuthView, Pick<PageAuth, 'signIn' | 'signOut' | 'fetch'> {}

/** The props of `AuthProvider`. */
export interface AuthProviderProps {
  /** The result of `createBrowserAuth` or `createBackendClient`. Create it once, outside of components. */
  readonly auth: PageAuth
  /** The components that call `useAuth`. */
  readonly children?: ReactNode
}

const AuthContext: Context<ReactAuth | undefined> = createContext<ReactAuth | undefined>(undefined)

/**
 * Finishes the login if the page is its callback, and provides `useAuth` to its children. On a server the status is `loading`. With
 * another `auth` it subscribes to that one. It closes none. Throws `config_invalid`.
 */
export function AuthProvider({ children, ...props }: AuthProviderProps): ReactElement {
  const { auth } = checkNames('AuthProvider', props, ['auth'])
  const store = useMemo(() => createAuthStore(auth, 'AuthProvider'), [auth])
  const view = useSyncExternalStore(store.subscribe, store.getSnapshot, () => loadingView)
  const { signIn, signOut, fetch } = auth
  const value = useMemo(() => ({ ...view, signIn, signOut, fetch }), [view, signIn, signOut, fetch])
  return createElement(AuthContext.Provider, { value }, children)
}

/** Returns state, claims, sign-in, sign-out and the bearer fetch of the nearest `AuthProvider`. Throws `config_invalid` outside of one. */
export function useAuth(): ReactAuth {
  return useContext(AuthContext) ?? invalid('useAuth needs an AuthProvider around the component')
}
