import { requireWebCrypto, startLogin } from '../authorize.ts'
import { createBearerFetch } from '../bearer.ts'
import { invalid } from '../config/invalid.ts'
import { configFrom } from '../config.ts'
import { randomText } from '../internal/base64url.ts'
import { abortable, succeeds } from '../internal/timeouts.ts'
import { pendingLogins } from '../pending-logins.ts'
import { sessionName } from '../session/record.ts'
import type { SessionState } from '../session/state.ts'
import type { Session } from '../session.ts'
import { callbackMode, markedState } from './callback-url.ts'
import { createArrival } from './finish-login.ts'
import { countAutomatic } from './login-loop.ts'
import { type BrowserAuthOptions, checkAuthOptions, type SignInOptions, signInOptions } from './options.ts'
import { untilShown } from './prerendering.ts'
import { pageStorage } from './storage/login-storage.ts'
import { createTabSession } from './tabs/tab-session.ts'
import { remindOfCallback } from './unfinished-callback.ts'

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
  /** The session behind `fetch`, with its state and `subscribe`. */
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
  checkAuthOptions(options)
  const { storage, key = 'default', popup, navigate = replaceAddress, loginStorage = pageStorage } = options
  // Nothing works there, not even the redirect URI; on a server there is no page to refuse.
  if (globalThis.document) requireWebCrypto()
  const config = configFrom(options)
  const name = sessionName(config, key)
  const { session, close } = createTabSession(config, { storage, key, name, signedOut: () => arrival.forget() })
  const stopReminder = remindOfCallback(config)
  const popupCallback = popup && ((address: string) => popup.handOver(name, address))
  const arrival = createArrival({ config, name, session, loginStorage, navigate, popupCallback })
  return {
    async ready() {
      const finished = Promise.resolve(arrival.finish())
      // A login that failed leaves the session as it was; what that is must be known all the same.
      if (!(await succeeds(finished))) await succeeds(session.ready())
      await finished
      return session.ready()
    },
    async signIn(given = {}) {
      const { mode = 'redirect', returnTo = arrival.goal ?? location.href, params, signal } = signInOptions(given)
      if (mode === 'popup') {
        if (!popup) invalid('popups need the option popup: popupLogin()')
        return popup.signIn({ config, name, redeem: arrival.redeem }, { params, signal }).then(arrival.forget)
      }
      // A login that is being finished must not be overtaken by the next one.
      if (arrival.isBusy) return arrival.finish()
      arrival.forget()
      await untilShown()
      const state = markedState(mode, randomText())
      const { url, pending } = await startLogin(config, { returnTo, params, state })
      await countAutomatic(loginStorage, { nowMs: config.clock.wallMs(), page: performance.timeOrigin })
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
    close() {
      stopReminder()
      close()
    },
  }
}

function replaceAddress(path: string): void {
  history.replaceState(history.state, '', path)
}
