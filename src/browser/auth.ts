import { createLogin, requireWebCrypto } from '../authorize.ts'
import { allowedTargets } from '../bearer/targets.ts'
import { bearerFetch } from '../bearer.ts'
import { configFrom } from '../config.ts'
import { urlOfSessionEnd } from '../end-session.ts'
import { abortable, succeeds } from '../internal/timeouts.ts'
import { invalid } from '../internal/values.ts'
import { loginRecords } from '../pending-logins.ts'
import type { SessionState } from '../session/memory.ts'
import { sessionName } from '../session/record.ts'
import type { Session } from '../session.ts'
import { callbackMode, markedState } from './callback-url.ts'
import { developerConsole } from './developer-console.ts'
import { leaveToSignIn, loginFinisher, readyAfter } from './finish-login.ts'
import { countAutomatic, noteSuccess } from './login-loop.ts'
import {
  type BrowserAuthOptions,
  checkAuthOptions,
  checkOrigin,
  type SignInOptions,
  type SignOutOptions,
  signInOptions,
  signOutOptions,
} from './options.ts'
import type { PopupApp } from './popup.ts'
import { redeemCallback, redeemLogin } from './redeem-login.ts'
import { pageStorage } from './storage/pending-login-storage.ts'
import { createTabSession } from './tabs/tab-session.ts'

/** Sign-in, session and requests of a single-page app. */
export interface BrowserAuth {
  /**
   * Finishes the login if this page is its callback, reads the storage, and resolves with the state. Write `await`: the promise
   * itself has no `status`. You can call it any number of times. Rejects with the codes of `readCallback` and `exchangeCode`, with
   * `already_handled` or with `storage_failed`.
   */
  ready(): Promise<SessionState>
  /**
   * Sends the user to the authorization server, or opens it in a popup. A redirect resolves when the browser starts to leave, a
   * popup when the user is signed in. Rejects with `insecure_context`, `config_invalid` (also for a redirect in a frame),
   * `storage_failed`, or `login_failed` for a third login without a click in five minutes. A popup also rejects with
   * `popup_blocked`, `popup_closed`, `timeout`, `aborted` and the codes of a callback.
   */
  signIn(options?: SignInOptions): Promise<void>
  /**
   * Ends the session in all tabs, and a login that is being finished. Needs no network. With `atService`, the page then leaves for
   * the service, which ends its own sign-in. Rejects with `storage_failed` if the record is still in the storage, unless
   * the page keeps it in memory because its storage could not be used.
   */
  signOut(options?: SignOutOptions): Promise<void>
  /** Sends the token to `baseUrl` and to no other address. If this page is a callback, it finishes the login first. */
  readonly fetch: typeof fetch
  /** The session behind `fetch`, with its state and `subscribe`. */
  readonly session: Session
  /** Returns whether a URL is a callback of this app, for routers and service workers. It has no side effect. */
  isCallbackUrl(url: string | URL): boolean
  /** Removes the listeners of the page and the connection to other tabs. */
  close(): void
}

/**
 * Signs users in from a page, keeps the tabs of the app in sync, and adds the bearer header to their requests. The options
 * are copied. Creation needs neither the network nor the token storage. Throws `config_invalid` and `insecure_context`.
 * Specification section 5.2.
 */
export function createBrowserAuth(given: BrowserAuthOptions): BrowserAuth {
  const options = checkAuthOptions(given)
  const { storage, key = 'default', popup, navigate, loginStorage = pageStorage } = options
  // Without Web Crypto no login works. A server has no page, so rendering there is allowed.
  if (globalThis.document) requireWebCrypto()
  const developer = options.onEvent ? undefined : developerConsole()
  const config = configFrom({ ...options, onEvent: options.onEvent ?? developer?.onEvent })
  const name = sessionName(config, key)
  const { session, close } = createTabSession(config, { storage, key, name, signedOut: () => login.discard() })
  const { redirectUri } = config
  /** The origins of requests without the token. Each is reported once. */
  const reported = new Set<string>()
  const parts = { config, session, loginStorage }
  const login = loginFinisher({
    redirectUri,
    name,
    session,
    navigate,
    async signIn(callback, signal) {
      const { address } = callback
      if (popup && callbackMode(redirectUri, address) === 'popup') return popup.handOver(name, address)
      await redeemCallback(parts, callback, signal)
      await succeeds(noteSuccess(loginStorage, config.clock.wallMs()))
    },
  })
  return {
    ready: () => readyAfter(login, session.ready),
    async signIn(given = {}) {
      const { mode, returnTo = login.returnTo ?? location.href, params, signal } = signInOptions(given)
      if (mode === 'popup' || loginStorage === pageStorage) checkOrigin(redirectUri)
      if (mode === 'popup') {
        if (!popup) invalid('popup is missing. Set it to popupLogin()')
        const redeem: PopupApp['redeem'] = (grant, opened) =>
          login.guard(opened, redeemLogin(parts, grant, opened.signal))
        return popup.signIn({ config, name, redeem }, { params, signal }).then(login.discard)
      }
      await leaveToSignIn(login, async () => {
        const { url, pending } = await createLogin(config, { returnTo, params, state: markedState('redirect') })
        await countAutomatic(loginStorage, config.clock.wallMs())
        await loginRecords(loginStorage, config.clock).save(pending)
        return url.href
      })
    },
    async signOut(given = {}) {
      const { atService, returnTo } = signOutOptions(given)
      await session.signOut()
      if (atService) location.assign(urlOfSessionEnd(config, returnTo ?? location.href))
    },
    fetch: bearerFetch(
      {
        async getAccessToken(wanted) {
          if (login.isPending) await abortable(succeeds(Promise.resolve(login.finish())), wanted?.signal)
          return session.getAccessToken(wanted)
        },
      },
      {
        targetOf: allowedTargets({ baseUrl: config.baseUrl }),
        fetch: developer?.watch(options.fetch) ?? options.fetch,
        onElsewhere(origin) {
          if (!origin || reported.has(origin)) return
          reported.add(origin)
          config.emit({ type: 'sent_without_token', origin })
        },
      },
    ),
    session,
    isCallbackUrl: (url) => callbackMode(redirectUri, url) !== undefined,
    close,
  }
}
