import { invalid } from '../config/invalid.ts'
import { checkedElsewhere, checkOptions, type OptionKinds, storageKind } from '../config/options.ts'
import { type AuthConfigOptions, authOptionKinds } from '../config.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import type { LoginMode } from './callback-url.ts'
import type { PopupLogin } from './popup.ts'
import type { BrowserStorage } from './storage/browser-storage.ts'

/** The options of `createBrowserAuth`: those of `createAuthConfig` for a public client, and these. */
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

/** The options of `signIn`. */
export interface SignInOptions {
  /** Default `redirect`. `popup` needs the option `popup`. */
  readonly mode?: LoginMode | undefined
  /** Where the person goes afterwards, on this origin. Default: where they are, or wanted to go when the last login failed. */
  readonly returnTo?: string | undefined
  /** Adds authorize parameters, for example `{ prompt: 'login' }`. A server ignores those that it does not know. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** Ends the wait for a popup. */
  readonly signal?: AbortSignal | undefined
}

const { clientSecret: _, basicEncoding: __, ...publicKinds } = authOptionKinds

const authKinds: OptionKinds<BrowserAuthOptions> = {
  ...publicKinds,
  storage: storageKind,
  key: 'string',
  popup: { methods: ['signIn', 'handOver'], example: 'popupLogin()' },
  loginStorage: storageKind,
  navigate: 'function',
}

const signInKinds: OptionKinds<SignInOptions> = {
  mode: { oneOf: ['redirect', 'popup'] },
  returnTo: 'string',
  params: checkedElsewhere,
  signal: { methods: ['aborted', 'addEventListener'] },
}

/** Throws `config_invalid` for options of `createBrowserAuth` that are unknown or of another kind. */
export function checkAuthOptions(options: BrowserAuthOptions): void {
  checkOptions('createBrowserAuth', options, authKinds)
}

/** The options of `signIn`, checked. Throws `config_invalid`, also where there is no page. */
export function signInOptions(given: SignInOptions): SignInOptions {
  // As a click handler, signIn is called with the event.
  const options = typeof Object(given).preventDefault === 'function' ? {} : given
  checkOptions('signIn', options, signInKinds)
  if (!globalThis.document) invalid('signIn() needs a page. Call it in a browser, not on a server or in a worker')
  return options
}
