import type { BackendClientSession, BackendClientState } from '../backend/client/session.ts'
import type { BrowserAuth } from '../browser/auth.ts'
import type { TokenClaims } from '../claims.ts'
import { invalid } from '../internal/values.ts'

/** What a binding needs of the result of `createBrowserAuth` or `createBackendClient`. */
export interface PageAuth extends Pick<BrowserAuth, 'ready' | 'signIn' | 'signOut' | 'fetch'> {
  /** The state of the user. */
  readonly session: Pick<BackendClientSession, 'state' | 'subscribe'>
}

/** What components show of a user. It is the same object until something changes. */
export interface AuthView {
  /**
   * The status is `loading` until the session was read, and until `ready()` has ended if no user is signed in. If the storage
   * cannot be read, it stays `loading` and `error` is set. Only a backend sets `endsAtMs`.
   */
  readonly state: BackendClientState
  /** What the access token says about its user, for display and never for a decision about access. As `claims` of a session. */
  readonly claims: TokenClaims | undefined
  /** The error of the login that this page finished, until a user is signed in, or of a session that could not be read, until it was. */
  readonly error: unknown
}

/** A store, as those of Svelte and `useSyncExternalStore` are. */
export interface AuthStore {
  /** Returns what there is to show. On a server the status is `loading`. */
  getSnapshot(): AuthView
  /**
   * Calls `run` at once and after each change. The first subscription calls `ready()`, which finishes the login if the page is its
   * callback. Returns a function that ends the subscription.
   */
  subscribe(run: (view: AuthView) => void): () => void
}

/** The view of a server, and of a page that has not begun. */
export const loadingView: AuthView = { state: { status: 'loading' }, claims: undefined, error: undefined }

/** How `ready()` has ended. */
interface StartResult {
  readonly error?: unknown
  /** The status in which the error leaves the page. It is `loading` if the session could not be read. */
  readonly status?: AuthView['state']['status']
}

/** Creates a store of the user. `caller` is the name of the function whose argument `auth` is. Throws `config_invalid`. */
export function createAuthStore(auth: PageAuth, caller: string): AuthStore {
  if (typeof Object(auth).ready !== 'function')
    invalid(`${caller} needs the result of createBrowserAuth or createBackendClient`)
  const { session } = auth
  let ready: Promise<StartResult> | undefined
  let end: StartResult | undefined
  let view = loadingView
  function getSnapshot(): AuthView {
    if (!globalThis.document) return loadingView
    const current = session.state
    if (end?.status && (current.status === 'signed-in' || end.status !== current.status)) end = {}
    // A component that signs in a signed-out user by itself must first learn whether a login has just failed.
    const state = !end && current.status === 'signed-out' ? loadingView.state : current
    if (view.state !== state || view.error !== end?.error) view = { state, claims: state.claims, error: end?.error }
    return view
  }
  return {
    getSnapshot,
    subscribe(run) {
      run(getSnapshot())
      if (!globalThis.document) return () => {}
      let isActive = true
      const show = (): void => {
        if (isActive) run(getSnapshot())
      }
      const unsubscribe = session.subscribe(show)
      ready ??= auth.ready().then(
        () => ({}),
        (error: unknown) => ({ error, status: session.state.status }),
      )
      void ready.then((result) => {
        end ??= result
        show()
      })
      return () => {
        isActive = false
        unsubscribe()
      }
    },
  }
}
