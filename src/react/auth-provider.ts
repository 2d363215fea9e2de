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
import type { BrowserAuth } from '../browser/auth.ts'
import { checkArgument, checkOptions, type OptionKinds } from '../config/options.ts'
import { AgentAuthError } from '../errors.ts'
import type { SessionState } from '../session/state.ts'

/** What `useAuth` returns: the same object until the state or the error changes. */
export interface ReactAuth extends Pick<BrowserAuth, 'signIn' | 'signOut' | 'fetch'> {
  /** `loading` until it is known who is signed in; with an `error`, the storage could not be read. */
  readonly state: SessionState
  /** Why the login that this page was opened with failed; undefined once somebody is signed in. */
  readonly error: unknown
}

/** The props of `AuthProvider`. */
export interface AuthProviderProps {
  /** From `createBrowserAuth`, made once, outside of components. */
  readonly auth: BrowserAuth
  /** What may call `useAuth`. */
  readonly children?: ReactNode
}

const propKinds: OptionKinds<Omit<AuthProviderProps, 'children'>> = {
  auth: { methods: ['ready', 'signIn', 'session'] },
}

const AuthContext: Context<ReactAuth | undefined> = createContext<ReactAuth | undefined>(undefined)
const notLooked: SessionState = { status: 'loading' }

/** Finishes a login when the page is its callback, and gives `useAuth` to what is inside. Rendered on a server it is `loading`. */
export function AuthProvider({ children, ...props }: AuthProviderProps): ReactElement {
  checkOptions('AuthProvider', props, propKinds)
  const { auth } = props
  checkArgument('auth', auth, propKinds.auth)
  const { session, signIn, signOut, fetch } = auth
  const known = useSyncExternalStore(
    session.subscribe,
    () => session.state,
    () => notLooked,
  )
  const [start, setStart] = useState<{ readonly error?: unknown }>()
  useEffect(() => {
    let isMounted = true
    const end = (error?: unknown): void => void (isMounted && setStart({ error }))
    auth.ready().then(() => end(), end)
    return () => {
      isMounted = false
    }
  }, [auth])
  // Whoever signs in by itself when nobody is signed in must know by then whether a login has just failed.
  const state = !start && known.status === 'signed-out' ? notLooked : known
  if (start?.error !== undefined && known.status === 'signed-in') setStart({})
  const value = useMemo(
    () => ({ state, error: start?.error, signIn, signOut, fetch }),
    [state, start, signIn, signOut, fetch],
  )
  return createElement(AuthContext.Provider, { value }, children)
}

/** State, sign-in, sign-out and the bearer fetch of the nearest `AuthProvider`. Throws `config_invalid` outside of one. */
export function useAuth(): ReactAuth {
  const auth = useContext(AuthContext)
  if (!auth) throw new AgentAuthError('config_invalid', 'useAuth was called outside of an AuthProvider.')
  return auth
}
