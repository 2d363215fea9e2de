import { readCallback } from '../callback.ts'
import { isLoopback } from '../config/service-url.ts'
import type { AuthConfig } from '../config.ts'
import type { AgentAuthError, AgentAuthErrorCode } from '../errors.ts'
import { exchangeCode } from '../exchange.ts'
import type { Grant } from '../grant.ts'
import { callbackReminderMs } from '../internal/limits.ts'
import { abortable, succeeds } from '../internal/timeouts.ts'
import { pendingLogins } from '../pending-logins.ts'
import type { Session } from '../session.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import { callbackMode, hideCallback } from './callback-url.ts'
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
  /** Exchanges the code and signs the user in. Rejects with `aborted` if `discard` comes first. */
  redeem(grant: Grant): Promise<void>
  /** Discards the callback, because of a sign-out or another login. A login in progress ends without a session. */
  discard(): void
  /** Whether the login is being finished or still has to be. */
  readonly isPending: boolean
  /** The return URL of the login that failed on this page. */
  readonly returnTo: string | undefined
  /** Cancels the report of a callback that stays in the address. */
  close(): void
}

/** The logins that a page finishes, by name. Another instance of the app in the page waits for them. */
const inProgress = new WeakMap<Document, Map<string, Promise<void>>>()

/** For a user who is signed in these are no failure: the callback was reloaded, opened twice, or not started here. */
const harmless: readonly AgentAuthErrorCode[] = ['already_handled', 'flow_not_found']

export function loginFinisher(options: LoginFinisherOptions): LoginFinisher {
  const { config, name, session, loginStorage, navigate, handOver } = options
  const logins = pendingLogins(loginStorage, config)
  let callback: string | undefined
  let grant: Grant | undefined
  let result: Promise<void> | undefined
  let returnTo: string | undefined
  let discarding = new AbortController()
  const mode = (address = globalThis.location?.href) => address && callbackMode(config.redirectUri, address)

  async function signIn(checked: Grant, signal: AbortSignal): Promise<void> {
    await session.signIn(await exchangeCode(config, checked, { signal }))
  }

  async function exchange(address: string, signal: AbortSignal): Promise<void> {
    grant ??= readCallback(await logins.take(address), address, { nowMs: config.clock.wallMs() })
    if (signal.aborted) return
    await signIn(grant, signal)
    await succeeds(noteSuccess(loginStorage, config.clock.wallMs()))
    // After a sign-out the app may already show another page.
    if (grant.returnTo !== undefined && !signal.aborted) navigate(grant.returnTo)
  }

  async function run(address: string): Promise<void> {
    const { signal } = discarding
    try {
      await abortable(handOver && mode(address) === 'popup' ? handOver(address) : exchange(address, signal), signal)
    } catch (error) {
      const { code, retryable, details } = error as AgentAuthError
      returnTo = grant?.returnTo ?? details?.returnTo
      if (signal.aborted || (harmless.includes(code) && (await session.ready()).status === 'signed-in')) return
      // A pending login that was taken is gone from the storage, so that only its grant can be tried again.
      if (retryable && (grant || code === 'storage_failed')) {
        callback = address
        result = undefined
      }
      throw error
    }
  }

  async function runShared(address: string): Promise<void> {
    const shared = inProgress.get(document) ?? new Map<string, Promise<void>>()
    const running = run(address)
    inProgress.set(document, shared.set(name, running))
    await succeeds(running)
    shared.delete(name)
    return running
  }

  const shared = (): Promise<void> | undefined => globalThis.document && inProgress.get(document)?.get(name)

  function finish(): Promise<void> | undefined {
    if (mode()) {
      const shown = untilShown()
      if (shown !== undefined) return shown.then(finish)
      callback = location.href
      grant = undefined
      hideCallback()
    }
    if (callback) result = runShared(callback)
    callback = undefined
    return result ?? shared()
  }

  function remind(): void {
    if (!mode()) return
    config.emit({ type: 'callback_unfinished' })
    if (!isLoopback(location.hostname)) return
    // biome-ignore lint/suspicious/noConsole: a developer looks there if a login does not end, and no call could throw this.
    console.warn('agent-auth: call ready() to finish the login of this callback page.')
  }
  const reminder = mode() && setTimeout(remind, callbackReminderMs)

  return {
    finish,
    redeem(checked) {
      const { signal } = discarding
      return abortable(signIn(checked, signal), signal)
    },
    discard() {
      discarding.abort()
      discarding = new AbortController()
      callback = result = undefined
      if (mode()) hideCallback()
    },
    get isPending() {
      return !!mode() || shared() !== undefined
    },
    get returnTo() {
      return location.pathname === new URL(config.redirectUri).pathname ? returnTo : undefined
    },
    close: () => clearTimeout(reminder || undefined),
  }
}
