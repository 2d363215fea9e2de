import { generateRandomState } from 'oauth4webapi'
import { requireWebCrypto, startLogin } from '../authorize.ts'
import { createBearerFetch } from '../bearer.ts'
import { type AuthConfigOptions, configFrom } from '../config.ts'
import { abortable, succeeds } from '../deadline.ts'
import { AgentAuthError } from '../errors.ts'
import { sessionName } from '../session/record.ts'
import type { SessionState } from '../session/state.ts'
import type { Session } from '../session.ts'
import { pendingLogins } from '../storage/pending-logins.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import { createArrival } from './arrival.ts'
import type { BrowserStorage } from './browser-storage.ts'
import { callbackMode, type LoginMode, markedState } from './callback-url.ts'
import { countAutomatic } from './login-loop.ts'
import type { PopupLogin } from './popup.ts'
import { untilShown } from './prerendering.ts'
import { createTabSession } from './tab-session.ts'

/** Looked up at each use: reading the property throws where the browser blocks it. */
const tabStorage: TokenStorage = {
  getItem: (key) => sessionStorage.getItem(key),
  setItem: (key, value) => sessionStorage.setItem(key, value),
  removeItem: (key) => sessionStorage.removeItem(key),
}

export interface BrowserAuthOptions extends Omit<AuthConfigOptions, 'clientSecret' | 'basicEncoding'> {
  /** Where the session's record is kept: `indexedDbStorage()` for many tabs and reloads. Default: memory of this page. */
  readonly storage?: BrowserStorage | undefined
  /** Tells sessions over one storage apart. Default `default`. */
  readonly key?: string | undefined
  /** `popupLogin()`, for `signIn({ mode: 'popup' })`. */
  readonly popup?: PopupLogin | undefined
  /** Where a login waits for its callback. Default: sessionStorage, which belongs to one tab. */
  readonly loginStorage?: TokenStorage | undefined
  /** Shows the page the person came from, after the login. Default: `history.replaceState`, before a router starts. */
  readonly navigate?: ((path: string) => void) | undefined
}

export interface SignInOptions {
  /** Default `redirect`. `popup` needs the option `popup`. */
  readonly mode?: LoginMode | undefined
  /** Where the person goes afterwards, on this origin. Default: where they are, or wanted to go when the last login failed. */
  readonly returnTo?: string | undefined
  /** Further authorize parameters, for example `prompt`. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** Ends the wait for a popup. */
  readonly signal?: AbortSignal | undefined
}

/** Sign-in, session and requests of a single-page app. */
export interface BrowserAuth {
  /**
   * Finishes the login when this page is its callback, reads the storage, and resolves with the state; call it as often as
   * you like. Rejects with what `readCallback` and `exchangeCode` reject with, `already_handled`, or `storage_failed`.
   */
  ready(): Promise<SessionState>
  /**
   * Sends the person to the service, or opens it in a popup. A redirect resolves when the browser was told to leave, a
   * popup when the person is signed in. Rejects with `insecure_context`, `config_invalid`, `storage_failed`,
   * `login_failed` for a third login in five minutes that nobody clicked for, and from a popup with `popup_blocked`,
   * `popup_closed`, `timeout`, `aborted` and what a callback rejects with.
   */
  signIn(options?: SignInOptions): Promise<void>
  /** Ends the session in all tabs; needs no network. Rejects with `storage_failed` if the record is still there. */
  signOut(): Promise<void>
  /** A `fetch` that carries the token to `baseUrl` and nowhere else. It waits for a callback, and finishes it. */
  readonly fetch: typeof fetch
  readonly session: Session
  /** Whether the address ends a login of this app, for routers and service workers; touches nothing. */
  isCallbackUrl(url: string | URL): boolean
  /** Stops listening to other tabs and to the page. */
  close(): void
}

/**
 * Signs people in to the service from a page, keeps its tabs in step, and gives their requests the bearer header. Options
 * are copied; creating it touches neither network nor token storage. Throws `config_invalid` and `insecure_context`. Specification section 5.2.
 */
export function createBrowserAuth(options: BrowserAuthOptions): BrowserAuth {
  const { storage, key = 'default', popup, navigate = replaceAddress } = options
  const { loginStorage = tabStorage } = options
  // Nothing works there, not even the redirect URI; on a server there is no page to refuse.
  if (globalThis.document) requireWebCrypto()
  const config = configFrom(options)
  const name = sessionName(config, key)
  const { session, close } = createTabSession(config, { storage, key, name })
  const popupCallback = popup && ((address: string) => popup.handOver(name, address))
  const arrival = createArrival({ config, session, loginStorage, navigate, popupCallback })
  return {
    async ready() {
      const finished = Promise.resolve(arrival.finish())
      // A login that failed leaves the session as it was; what that is must be known all the same.
      if (!(await succeeds(finished))) await succeeds(session.ready())
      await finished
      return session.ready()
    },
    async signIn({ mode = 'redirect', returnTo = arrival.goal ?? location.href, params, signal } = {}) {
      if (mode === 'popup') {
        if (!popup) throw new AgentAuthError('config_invalid', 'Popups need the option popup: popupLogin().')
        return popup.signIn({ config, session, name }, { params, signal }).then(arrival.forget)
      }
      // A login that is being finished must not be overtaken by the next one.
      if (arrival.isBusy) return arrival.finish()
      arrival.forget()
      await untilShown()
      const state = markedState(mode, generateRandomState())
      const { url, pending } = await startLogin(config, { returnTo, params, state })
      await countAutomatic(loginStorage, config.clock.wallMs())
      await pendingLogins(loginStorage, config).save(pending)
      location.assign(url)
    },
    signOut: () => session.signOut(),
    fetch: createBearerFetch(
      {
        async getAccessToken(wanted) {
          if (arrival.isBusy) await abortable(succeeds(Promise.resolve(arrival.finish())), wanted?.signal)
          return session.getAccessToken(wanted)
        },
      },
      { baseUrl: config.baseUrl, fetch: options.fetch },
    ),
    session,
    isCallbackUrl: (url) => callbackMode(config.redirectUri, url) !== undefined,
    close,
  }
}

function replaceAddress(path: string): void {
  history.replaceState(history.state, '', path)
}
