import {
  type ComponentType,
  createElement,
  isValidElement,
  type ReactNode,
  useCallback,
  useEffect,
  useRef,
  useState,
} from 'react'
import { checkNames, invalid } from '../internal/values.ts'
import { useAuth } from './auth-provider.ts'

/** The props that `RequireSession` passes to its `fallback`. */
export interface SessionFallbackProps {
  /**
   * `loading`: it is not known yet whether the user is signed in, or the page leaves for the login. `signed-out`: the session
   * ended on this page, or the user came back from the login. `failed`: see `error`.
   */
  readonly status: 'loading' | 'signed-out' | 'failed'
  /** The error of a login that could not start or finish, or of a storage that could not be read. Otherwise undefined. */
  readonly error: unknown
  /** Starts a login. For a click handler. */
  readonly signIn: () => void
}

/** The props of `RequireSession`. */
export interface RequireSessionProps {
  /** Shown if the user is signed in. */
  readonly children?: ReactNode
  /** The component that is shown otherwise. */
  readonly fallback: ComponentType<SessionFallbackProps>
  /** Sets the return URL. Default: this page, or the return URL of the login that failed on it. */
  readonly returnTo?: string | undefined
}

/**
 * Shows its children to a signed-in user and `fallback` to others. If the user is signed out when the page starts, it starts
 * a login by redirect; after a sign-out, a failure or an ended session it waits for a click. A reload after a failure tries once
 * more. `createBrowserAuth` stops the third automatic login in five minutes with `login_failed`. A client of a
 * backend has no such limit. Throws `config_invalid`.
 */
export function RequireSession({ children, ...props }: RequireSessionProps): ReactNode {
  const { fallback, returnTo } = checkNames('RequireSession', props, ['fallback', 'returnTo'])
  // Suspense takes an element under this name, and React would report neither the property nor the component.
  if (!fallback || typeof fallback === 'string' || isValidElement(fallback))
    invalid('RequireSession needs a component. Write fallback={Door}, not fallback={<Door />}')
  const { state, error } = useAuth()
  const { attempt, signIn } = useLogin(returnTo)
  const isLeaving = attempt.phase === 'leaving'
  const failure = isLeaving ? undefined : (attempt.error ?? error)
  const hasEnded = state.reason !== undefined || attempt.phase === 'stopped'
  const wantsLogin = state.status === 'signed-out' && failure === undefined && !hasEnded && !isLeaving
  useEffect(() => {
    if (wantsLogin) signIn()
  }, [wantsLogin, signIn])

  if (state.status === 'signed-in') return children
  const status = failure !== undefined ? 'failed' : hasEnded && !isLeaving ? 'signed-out' : 'loading'
  return createElement(fallback, { status, error: failure, signIn })
}

interface Attempt {
  readonly phase: 'none' | 'leaving' | 'stopped'
  readonly error?: unknown
}

/** A login by redirect, started at most once at a time. */
function useLogin(returnTo: string | undefined): { attempt: Attempt; signIn: () => void } {
  const { state, signIn: redirect } = useAuth()
  const [attempt, setAttempt] = useState<Attempt>({ phase: 'none' })
  // A ref, because StrictMode runs an effect twice before it shows the state that the first run set.
  const isLeaving = useRef(false)
  const show = useCallback((next: Attempt): void => {
    isLeaving.current = next.phase === 'leaving'
    setAttempt(next)
  }, [])
  const signIn = useCallback((): void => {
    if (isLeaving.current) return
    show({ phase: 'leaving' })
    redirect({ returnTo }).catch((error: unknown) => show({ phase: 'stopped', error }))
  }, [redirect, returnTo, show])
  const isSignedIn = state.status === 'signed-in'
  useEffect(() => {
    if (isSignedIn) show({ phase: 'none' })
  }, [isSignedIn, show])
  useEffect(() => {
    // The user went back from the login to a page of the back/forward cache. A second redirect would shut the user out of it.
    const onReturn = ({ persisted }: PageTransitionEvent): void => {
      if (persisted && isLeaving.current) show({ phase: 'stopped' })
    }
    addEventListener('pageshow', onReturn)
    return () => removeEventListener('pageshow', onReturn)
  }, [show])
  return { attempt, signIn }
}
