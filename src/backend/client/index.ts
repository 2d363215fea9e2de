import { invalid } from '../../internal/values.ts'
import { csrfHeader } from '../csrf.ts'
import { type BackendClientSession, pageSession } from './session.ts'

export type { BackendClientSession, BackendClientState } from './session.ts'

/** The options of `createBackendClient`. */
export interface BackendClientOptions {
  /** Sets the path of the backend's routes, as the option of `createBackend` does. Default: `/auth`. */
  readonly basePath?: string | undefined
}

/** The options of `signIn` of a backend client. */
export interface BackendSignInOptions {
  /** Sets the return URL, on this origin. Default: this page. */
  readonly returnTo?: string | undefined
  /** `login_hint` and `prompt` for the authorization server. Others have no effect. */
  readonly params?: Readonly<Record<string, string>> | undefined
}

/** The options of `signOut` of a backend client. */
export interface BackendSignOutOptions {
  /** Also ends the sign-in at the service: the page goes there. Default: false. */
  readonly atService?: boolean | undefined
  /** Also ends the sessions of this user in other browsers. Default: false. */
  readonly everywhere?: boolean | undefined
  /** Where the service sends the user then, on this origin. Default: `/`. */
  readonly returnTo?: string | undefined
}

/** Sign-in, session and requests of a page whose backend keeps the tokens. */
export interface BackendClient extends BackendClientSession {
  /**
   * Sends the user to the login of the backend. Resolves when the browser starts to leave. Rejects with `config_invalid` for
   * an unknown option, and on a server.
   */
  signIn(options?: BackendSignInOptions): Promise<void>
  /**
   * Ends the session, in all tabs. Rejects with `temporarily_unavailable` if the backend was not reached, and with
   * `storage_failed` if the user is signed out but the record may still be stored.
   */
  signOut(options?: BackendSignOutOptions): Promise<void>
  /**
   * Sends requests as `fetch` does, and those to this origin with the header `x-agent-auth: 1`. Before it returns a 401 of this
   * origin, it asks whether the session has ended. `state` then says so.
   */
  readonly fetch: typeof fetch
  /** This object, where `createBrowserAuth` has its session, for code that takes either. */
  readonly session: BackendClientSession
  /** Removes the listeners of the page and the connection to other tabs. */
  close(): void
}

/**
 * Creates the client of a page of `createBackend`. It asks the backend who is signed in, and again when the page is shown or
 * another tab reports a change. It has no tokens. On a server the state is `loading`. Throws `config_invalid`.
 */
export function createBackendClient(options: BackendClientOptions = {}): BackendClient {
  const { basePath = '/auth' } = known(options, 'basePath')
  // Absolute URLs, because a page may have a <base href>. A server has no location, so `base` is of no use there.
  const origin = globalThis.location?.origin
  const base = origin + basePath
  const closing = new AbortController()
  const [session, revalidate, signOut] = pageSession(base, closing.signal)
  return Object.assign(session, {
    session,
    async signIn(given: BackendSignInOptions = {}) {
      const { returnTo = location.href, params } = known(given, 'returnTo', 'params')
      location.assign(`${base}/login?${new URLSearchParams({ ...params, return_to: returnTo })}`)
    },
    async signOut(given: BackendSignOutOptions = {}) {
      const { atService, everywhere, returnTo = '/' } = known(given, 'atService', 'everywhere', 'returnTo')
      const query = new URLSearchParams({ return_to: returnTo })
      if (atService) query.set('at_service', '')
      if (everywhere) query.set('everywhere', '')
      const { endSessionUrl } = await signOut(`?${query}`)
      if (endSessionUrl) location.assign(endSessionUrl)
    },
    async fetch(input: string | URL | Request, init?: RequestInit) {
      // The platform's own copy, so that the URL that is judged is the one that is requested.
      const request = new Request(input, init)
      const isOwn = request.url.startsWith(`${origin}/`)
      if (isOwn) request.headers.set(csrfHeader, '1')
      const response = await fetch(request)
      if (isOwn && response.status === 401) await revalidate()
      return response
    },
    close: () => closing.abort(),
  })
}

/** Returns the own options, or none of a click's event. Throws `config_invalid` for one of another name, unless it is undefined. */
function known<T extends object>(options: T & { preventDefault?: unknown }, ...names: (keyof T)[]): Partial<T> {
  if (options.preventDefault) return {}
  const own = { ...options }
  for (const name of Object.keys(own) as (keyof T)[])
    if (own[name] !== undefined && !names.includes(name)) invalid(`the options are ${names}`)
  return own
}
