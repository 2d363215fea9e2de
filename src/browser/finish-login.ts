import { readCallback } from '../callback.ts'
import type { AuthConfig } from '../config.ts'
import type { AgentAuthError, AgentAuthErrorCode } from '../errors.ts'
import { redeemGrant } from '../exchange.ts'
import type { Grant } from '../grant.ts'
import { abortable, abortedError, succeeds } from '../internal/timeouts.ts'
import { loginRecords } from '../pending-logins.ts'
import type { Session } from '../session.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import { callbackMode, hideCallback, isAtRedirectUri } from './callback-url.ts'
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
  finish(): Promise<unknown> | undefined
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
}

/** For a user who is signed in these are no failure: the callback was reloaded, opened twice, or not started here. */
const harmless: readonly AgentAuthErrorCode[] = ['already_handled', 'flow_not_found']

/** A callback of this page. The grant is kept, because its pending login is removed from the storage when it is read. */
interface Callback {
  readonly address: string
  grant?: Grant
}

export function loginFinisher(options: LoginFinisherOptions): LoginFinisher {
  const { config, name, session, handOver, navigate } = options
  const logins = loginsOfPage(name)
  let pending: Callback | undefined
  let result: Promise<unknown> | undefined
  let returnTo: string | undefined
  let discarding = new AbortController()
  const mode = (address = globalThis.location?.href) => address && callbackMode(config.redirectUri, address)

  /** Resolves with the return URL that it has shown. */
  async function run(callback: Callback): Promise<string | undefined> {
    const { address } = callback
    const { signal } = discarding
    try {
      const isPopup = handOver && mode(address) === 'popup'
      await abortable(isPopup ? handOver(address) : finishLogin(options, callback, signal), signal)
      return callback.grant?.returnTo
    } catch (error) {
      const { code, retryable, details } = error as AgentAuthError
      returnTo = callback.grant?.returnTo ?? details?.returnTo
      if (signal.aborted || (harmless.includes(code) && (await session.ready()).status === 'signed-in'))
        return undefined
      if (retryable && (callback.grant || code === 'storage_failed')) {
        pending = callback
        result = undefined
      }
      throw error
    }
  }

  function finish(): Promise<unknown> | undefined {
    if (mode()) {
      const shown = untilShown()
      if (shown !== undefined) return shown.then(finish)
      const { href } = location
      const known = logins.resultOf(href)
      const isRunning = logins.running() !== undefined
      hideCallback()
      if (known === undefined) pending = { address: new URL(new URL(href).search, config.redirectUri).href }
      // A router has written back the callback that it read when it was created.
      else if (!pending) result = isRunning ? known : known.then((path) => path !== undefined && navigate(path))
    }
    if (pending) result = logins.share(pending.address, run(pending))
    pending = undefined
    return result ?? logins.running()
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
      if (!mode()) return
      logins.ignore(location.href)
      hideCallback()
    },
    get isPending() {
      return (!!mode() && logins.resultOf(location.href) === undefined) || logins.running() !== undefined
    },
    get returnTo() {
      return isAtRedirectUri(config.redirectUri, location.href) ? returnTo : undefined
    },
  }
}

async function signIn({ config, session }: LoginFinisherOptions, grant: Grant, signal: AbortSignal): Promise<void> {
  const tokens = await redeemGrant(config, grant, signal)
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
  // After a sign-out the app may already show another page. `sameOriginPath` in return-url.ts prevented an open redirect.
  if (grant.returnTo !== undefined && !signal.aborted) navigate(grant.returnTo)
}

const loginsKey: unique symbol = Symbol.for('agent-auth.logins') as never

/** The result of a login: the return URL that was shown. */
type LoginResult = Promise<string | undefined>
type Page = Document & { [loginsKey]?: Map<string, LoginResult> }

/**
 * The logins that a page finishes or has finished are kept with it: each by its `state`, and the one that runs by the name of the app
 * as well. Another instance of the app, a second mount and a router that shows the callback again share the result, so that the code
 * is sent once.
 */
function loginsOfPage(name: string) {
  const page: Page | undefined = globalThis.document
  const key = (address: string): string => `state:${new URL(address).searchParams.get('state')}`
  const results: Map<string, LoginResult> = page?.[loginsKey] ?? new Map()
  if (page) page[loginsKey] = results
  return {
    running: () => results.get(name),
    resultOf: (address: string) => results.get(key(address)),
    /** Makes a login the running one until it ends, and keeps its result. */
    async share(address: string, login: LoginResult): LoginResult {
      results.set(name, login).set(key(address), login)
      await succeeds(login)
      results.delete(name)
      return login
    },
    /** Makes the callback one that has been handled. */
    ignore: (address: string) => void results.set(key(address), Promise.resolve(undefined)),
  }
}
