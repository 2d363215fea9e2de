import { readCallback } from '../callback.ts'
import { invalid } from '../config/invalid.ts'
import type { AuthConfig } from '../config.ts'
import type { AgentAuthError, AgentAuthErrorCode } from '../errors.ts'
import { redeemGrant } from '../exchange.ts'
import type { Grant } from '../grant.ts'
import { callbackReminderMs } from '../internal/limits.ts'
import { abortable, abortedError, succeeds } from '../internal/timeouts.ts'
import { loginRecords } from '../pending-logins.ts'
import type { Session } from '../session.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import { callbackMode, hideCallback } from './callback-url.ts'
import { hint } from './developer-hint.ts'
import { noteSuccess } from './login-loop.ts'
import { untilShown } from './prerendering.ts'

export interface LoginFinisherOptions {
  readonly config: AuthConfig
  /** Identifies the instances of one app in this page. */
  readonly name: string
  readonly session: Session
  readonly loginStorage: TokenStorage
  /** Shows the return URL. */
  readonly navigate: (path: string) => void
  /** Sends the callback of a popup to the page that opened it. */
  readonly handOver: ((callback: string) => Promise<void>) | undefined
}

/** The login whose callback this page was opened with, if there is one. */
export interface LoginFinisher {
  /** Finishes the login once. A failure that cannot be retried stays until `discard`. */
  finish(): Promise<void> | undefined
  /**
   * Exchanges the code and signs the user in. Rejects with `aborted` if `discard` comes first, or if the login is aborted before
   * its tokens are here.
   */
  redeem(grant: Grant, login: AbortController): Promise<void>
  /** Discards the callback, because of a sign-out or another login. A login in progress ends without a session. */
  discard(): void
  /** Whether the login is being finished or still has to be. */
  readonly isPending: boolean
  /** The return URL of the login that failed on this page. */
  readonly returnTo: string | undefined
  /** Cancels the report of a callback that stays in the address. */
  close(): void
}

/** For a user who is signed in these are no failure: the callback was reloaded, opened twice, or not started here. */
const harmless: readonly AgentAuthErrorCode[] = ['already_handled', 'flow_not_found']

/** A callback of this page. The grant is kept, because its pending login is removed from the storage when it is read. */
interface Callback {
  readonly address: string
  grant?: Grant
}

export function loginFinisher(options: LoginFinisherOptions): LoginFinisher {
  const { config, name, session, handOver } = options
  const inPage = loginInProgress(name)
  let pending: Callback | undefined
  let result: Promise<void> | undefined
  let returnTo: string | undefined
  let discarding = new AbortController()
  const mode = (address = globalThis.location?.href) => address && callbackMode(config.redirectUri, address)

  async function run(callback: Callback): Promise<void> {
    const { address } = callback
    const { signal } = discarding
    try {
      const isPopup = handOver && mode(address) === 'popup'
      await abortable(isPopup ? handOver(address) : finishLogin(options, callback, signal), signal)
    } catch (error) {
      const { code, retryable, details } = error as AgentAuthError
      returnTo = callback.grant?.returnTo ?? details?.returnTo
      if (signal.aborted || (harmless.includes(code) && (await session.ready()).status === 'signed-in')) return
      if (retryable && (callback.grant || code === 'storage_failed')) {
        pending = callback
        result = undefined
      }
      throw error
    }
  }

  function finish(): Promise<void> | undefined {
    if (mode()) {
      const shown = untilShown()
      if (shown !== undefined) return shown.then(finish)
      pending = { address: location.href }
      hideCallback()
    } else if (mode(withOtherSlash())) invalid(otherSlash)
    if (pending) result = inPage.share(run(pending))
    pending = undefined
    return result ?? inPage.current()
  }

  return {
    finish,
    redeem(grant, login) {
      discarding.signal.addEventListener('abort', () => login.abort(), { signal: login.signal })
      return abortable(signIn(options, grant, login.signal), discarding.signal)
    },
    discard() {
      discarding.abort()
      discarding = new AbortController()
      pending = result = undefined
      if (mode()) hideCallback()
    },
    get isPending() {
      return !!mode() || inPage.current() !== undefined
    },
    get returnTo() {
      return location.pathname === new URL(config.redirectUri).pathname ? returnTo : undefined
    },
    close: remindOfCallback(config, mode),
  }
}

const otherSlash = 'redirectUri and this page differ by a slash at the end of the path. Make both the same'

/** Returns the address with or without the slash that some servers add to the end of a path, or remove from it, by a redirect. */
function withOtherSlash(): string | undefined {
  return globalThis.location?.href.replace(/\/?\?/, (found) => (found === '?' ? '/?' : '?'))
}

async function signIn({ config, session }: LoginFinisherOptions, grant: Grant, signal: AbortSignal): Promise<void> {
  // No other call waits for this exchange, so that the request ends with the login.
  const fetch: AuthConfig['fetch'] = (url, init) => abortable(config.fetch(url, init), signal)
  const tokens = await redeemGrant({ ...config, fetch }, grant, signal)
  if (signal.aborted) throw abortedError()
  await session.signIn(tokens)
}

async function finishLogin(options: LoginFinisherOptions, callback: Callback, signal: AbortSignal): Promise<void> {
  const { config, loginStorage, navigate } = options
  const { address } = callback
  callback.grant ??= readCallback(await loginRecords(loginStorage, config.clock).take(address), address, {
    nowMs: config.clock.wallMs(),
  })
  const { grant } = callback
  if (signal.aborted) return
  await signIn(options, grant, signal)
  await succeeds(noteSuccess(loginStorage, config.clock.wallMs()))
  // After a sign-out the app may already show another page. `sameOriginPath` in return-url.ts prevented an open redirect.
  if (grant.returnTo !== undefined && !signal.aborted) navigate(grant.returnTo)
}

const loginsKey: unique symbol = Symbol.for('agent-auth.logins') as never

/**
 * The logins that a page finishes, by name, are kept with the page. Another instance of the app in it, also the second mount of
 * StrictMode, waits for them, so that the code is sent once.
 */
type Page = Document & { [loginsKey]?: Map<string, Promise<void>> }

interface LoginInProgress {
  current(): Promise<void> | undefined
  /** Makes a login the current one until it ends, and settles as it does. */
  share(running: Promise<void>): Promise<void>
}

function loginInProgress(name: string): LoginInProgress {
  const page: Page | undefined = globalThis.document
  return {
    current: () => page?.[loginsKey]?.get(name),
    async share(running) {
      const logins = page?.[loginsKey] ?? new Map<string, Promise<void>>()
      Object.assign(page as Page, { [loginsKey]: logins.set(name, running) })
      await succeeds(running)
      logins.delete(name)
      return running
    },
  }
}

/**
 * Reports a callback that stays in the address (`callbackReminderMs`, 5 s) because the app did not call `ready()`: once as an
 * event, and on localhost on the console too, because nothing else fails. Returns a function that cancels the report.
 */
function remindOfCallback(config: AuthConfig, mode: () => unknown): () => void {
  if (!mode()) return () => {}
  const timer = setTimeout(() => {
    if (mode()) hint(config, { type: 'callback_unfinished' }, 'call ready() to finish the login of this callback page.')
  }, callbackReminderMs)
  return () => clearTimeout(timer)
}
