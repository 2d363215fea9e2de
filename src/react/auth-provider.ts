import {
  type Context,
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from 'react'
import type { BackendClientSession, BackendClientState } from '../backend/client/session.ts'
import type { BrowserAuth } from '../browser/auth.ts'
import type { TokenClaims } from '../claims.ts'
import { AgentAuthError } from '../errors.ts'
import { checkNames, invalid } from '../internal/values.ts'

/** What `AuthProvider` needs of the result of `createBrowserAuth` or `createBackendClient`. */
export interface PageAuth extends Pick<BrowserAuth, 'ready' | 'signIn' | 'signOut' | 'fetch'> {
  /** The state and the claims. */
  readonly session: Pick<BackendClientSession, 'state' | 'claims' | 'subscribe'>
}

/** The return value of `useAuth`. It is the same object until the state or the error changes. */
export interface ReactAuth extends Pick<BrowserAuth, 'signIn' | 'signOut' | 'fetch'> {
  /**
   * The status is `loading` until the session was read, and until `ready()` has ended if no user is signed in. If the storage
   * cannot be read, it stays `loading` and `error` is set. Only a backend sets `endsAtMs`.
   */
  readonly state: BackendClientState
  /** What the access token says about its user, for display and never for a decision about access. As `claims` of a session. */
  readonly claims: TokenClaims | undefined
  /** The error of the login that this page finished, or of the storage. Undefined as soon as a user is signed in. */
  readonly error: unknown
}

/** The props of `AuthProvider`. */
export interface AuthProviderProps {
  /** The result of `createBrowserAuth` or `createBackendClient`. Create it once, outside of components. */
  readonly auth: PageAuth
  /** The components that call `useAuth`. */
  readonly children?: ReactNode
}

const AuthContext: Context<ReactAuth | undefined> = createContext<ReactAuth | undefined>(undefined)
const loading: BackendClientState = { status: 'loading' }

/**
 * Finishes the login if the page is its callback, and provides `useAuth` to its children. On a server the status is `loading`. The
 * second effect of StrictMode calls `ready()` again, which finishes no login twice. With another `auth`
 * it subscribes to that one. It closes none. Throws `config_invalid`.
 */
export function AuthProvider({ children, ...props }: AuthProviderProps): ReactElement {
  const { auth } = checkNames('AuthProvider', props, ['auth'])
  if (typeof Object(auth).ready !== 'function') invalid('AuthProvider needs auth={createBrowserAuth(options)}')
  const { session, signIn, signOut, fetch } = auth
  const current = useSyncExternalStore(
    session.subscribe,
    () => session.state,
    () => loading,
  )
  const [ended, setEnded] = useState<{ readonly auth: PageAuth; readonly error?: unknown }>()
  // With another `auth`, the end of the first one's start says nothing.
  const start = ended?.auth === auth ? ended : undefined
  useEffect(() => {
    let isMounted = true
    const end = (error?: unknown): void => void (isMounted && setEnded({ auth, error }))
    auth.ready().then(() => end(), end)
    return () => {
      isMounted = false
    }
  }, [auth])
  // A component that signs in a signed-out user by itself must first learn whether a login has just failed.
  const state = !start && current.status === 'signed-out' ? loading : current
  if (start?.error !== undefined && current.status === 'signed-in') setEnded({ auth })
  const value = useMemo(
    () => ({
      state,
      claims: state.status === 'signed-in' ? session.claims : undefined,
      error: start?.error,
      signIn,
      signOut,
      fetch,
    }),
    [state, session, start, signIn, signOut, fetch],
  )
  return createElement(AuthContext.Provider, { value }, children)
}

/** Returns state, claims, sign-in, sign-out and the bearer fetch of the nearest `AuthProvider`. Throws `config_invalid` outside of one. */
export function useAuth(): ReactAuth {
  const auth = useContext(AuthContext)
  if (!auth)
    throw new AgentAuthError(
      'config_invalid',
      'useAuth was called outside of an AuthProvider. Render AuthProvider around the component.',
    )
  return auth
}
