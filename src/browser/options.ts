import { type AuthConfigOptions, pageOptionNames } from '../config.ts'
import { checkMethods, checkNames, checkSignal, checkStorage, invalid, recordMethods } from '../internal/values.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import type { LoginMode } from './callback-url.ts'
import type { PopupLogin } from './popup.ts'

/** A storage that says whether the tabs of this origin share its records. */
export interface BrowserStorage extends TokenStorage {
  /** Which pages share the records: all tabs of the origin (`browser`, the default) or one tab (`tab`). */
  readonly reach?: 'browser' | 'tab'
}

/** The options of `createBrowserAuth`: those of `createAuthConfig` for a public client, and these. */
export interface BrowserAuthOptions
  extends Omit<AuthConfigOptions, 'clientSecret' | 'basicEncoding' | 'allowHttpHosts'> {
  /** Stores the session's record: `indexedDbStorage()` for several tabs and reloads. Default: the memory of this page. */
  readonly storage?: BrowserStorage | undefined
  /** Identifies a session if several share one storage. Default: `default`. */
  readonly key?: string | undefined
  /** Allows `signIn({ mode: 'popup' })`. Pass `popupLogin()`. */
  readonly popup?: PopupLogin | undefined
  /** Stores pending logins until their callback. Default: sessionStorage, which belongs to one tab. */
  readonly loginStorage?: TokenStorage | undefined
  /** Shows the return URL after the login. Default: `history.replaceState`, for a router that starts after `ready()`. */
  readonly navigate?: ((path: string) => void) | undefined
}

/** The options of `signOut`. */
export interface SignOutOptions {
  /** Ends the user's sign-in at the service as well, so that the next login asks for a password. Default: `false`. */
  readonly atService?: boolean | undefined
  /** Where the service sends the user then, on this origin. Default: this page. */
  readonly returnTo?: string | undefined
}

/** The options of `signIn`. */
export interface SignInOptions {
  /** Sets how the user gets to the authorization server. Default: `redirect`. `popup` needs the option `popup`. */
  readonly mode?: LoginMode | undefined
  /** Sets the return URL, on this origin. Default: this page, or the return URL of the login that failed on it. */
  readonly returnTo?: string | undefined
  /** Adds authorize parameters, for example `{ prompt: 'login' }`. A server ignores those that it does not know. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** Ends the wait for a popup, and closes it. */
  readonly signal?: AbortSignal | undefined
}

const authNames: readonly string[] = [...pageOptionNames, 'storage', 'key', 'popup', 'loginStorage', 'navigate']

/** Returns the options of `createBrowserAuth`, checked. Throws `config_invalid` for a name that is unknown and for a wrong type. */
export function checkAuthOptions(options: BrowserAuthOptions): BrowserAuthOptions {
  const own = checkNames('createBrowserAuth', options, authNames)
  if (own.storage !== undefined) checkStorage('storage', own.storage)
  if (own.loginStorage !== undefined) checkMethods('loginStorage', own.loginStorage, recordMethods)
  return own
}

/** Returns the options of `signIn`, checked. Throws `config_invalid`. */
export function signInOptions(given: SignInOptions): SignInOptions {
  const own = checkNames('signIn', withoutEvent(given), ['mode', 'returnTo', 'params', 'signal'])
  checkSignal(own.signal)
  return own
}

/** Returns the options of `signOut`, checked. Throws `config_invalid`. */
export function signOutOptions(given: SignOutOptions): SignOutOptions {
  return checkNames('signOut', withoutEvent(given), ['atService', 'returnTo'])
}

/** A click handler passes its event. */
function withoutEvent<T extends object>(given: T): T | Record<string, never> {
  return 'preventDefault' in Object(given) ? {} : given
}

/** Throws `config_invalid` if the redirect URI is on another origin, whose pages cannot find a login that starts here. */
export function checkOrigin(redirectUri: string): void {
  const { origin } = new URL(redirectUri)
  if (origin !== location.origin)
    invalid(
      `redirectUri is on ${origin}, but this page on ${location.origin}. Open the app there, or change redirectUri`,
    )
}
