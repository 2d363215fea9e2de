import type { AgentAuthError, AgentAuthErrorCode } from '../errors.ts'
import type { Grant } from '../grant.ts'
import { abortable, succeeds } from '../internal/timeouts.ts'
import { invalid } from '../internal/values.ts'
import type { SessionState } from '../session/memory.ts'
import type { Session } from '../session.ts'
import { callbackMode, hideCallback, isAtRedirectUri } from './callback-url.ts'
import { untilShown } from './prerendering.ts'

/** A callback of this page. The grant is kept, because its pending login is removed from the storage when it is read. */
export interface Callback {
  readonly address: string
  grant?: Grant | undefined
}

export interface LoginFinisherOptions {
  readonly redirectUri: string
  /** Identifies the instances of one app in this page. */
  readonly name: string
  readonly session: Pick<Session, 'ready'>
  /** Shows the return URL. Default: `history.replaceState`. */
  readonly navigate: ((path: string) => void) | undefined
  /** Signs in with a callback, and sets its grant. The signal fires if the login is discarded. */
  readonly signIn: (callback: Callback, signal: AbortSignal) => Promise<void>
}

/** The login whose callback this page was opened with, if there is one. */
export interface LoginFinisher {
  /** Finishes the login once. A failure that cannot be retried stays until `discard`. */
  finish(): Promise<unknown> | undefined
  /** Settles as a login that another window finishes. If `discard` comes first, it aborts that login and rejects with `aborted`. */
  guard(login: AbortController, signingIn: Promise<void>): Promise<void>
  /** Discards the callback, because of a sign-out or another login. A login in progress ends without a session. */
  discard(): void
  /** Whether the login is being finished or still has to be. */
  readonly isPending: boolean
  /** The return URL of the login that failed on this page. */
  readonly returnTo: string | undefined
}

/** For a user who is signed in these are no failure: the callback was reloaded, opened twice, or not started here. */
const harmless: readonly AgentAuthErrorCode[] = ['already_handled', 'flow_not_found']

export function loginFinisher(options: LoginFinisherOptions): LoginFinisher {
  const { redirectUri, name, session, navigate = replaceUrl, signIn } = options
  const logins = loginsOfPage(name)
  let pending: Callback | undefined
  let result: Promise<unknown> | undefined
  let returnTo: string | undefined
  let discarding = new AbortController()
  const isCallback = (): boolean => !!globalThis.location && callbackMode(redirectUri, location.href) !== undefined

  /** Resolves with the return URL that it has shown. */
  async function run(callback: Callback): Promise<string | undefined> {
    const { signal } = discarding
    try {
      await abortable(signIn(callback, signal), signal)
      const path = callback.grant?.returnTo
      // After a sign-out the app may already show another page. `sameOriginPath` in return-url.ts prevented an open redirect.
      if (path !== undefined && !signal.aborted) navigate(path)
      return path
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
    if (isCallback()) {
      const shown = untilShown()
      if (shown !== undefined) return shown.then(finish)
      const { href } = location
      const known = logins.resultOf(href)
      const isRunning = logins.running() !== undefined
      hideCallback()
      if (known === undefined) pending = { address: new URL(new URL(href).search, redirectUri).href }
      // A router has written back the callback that it read when it was created.
      else if (!pending) result = isRunning ? known : known.then((path) => path !== undefined && navigate(path))
    }
    if (pending) result = logins.share(pending.address, run(pending))
    pending = undefined
    return result ?? logins.running()
  }

  return {
    finish,
    guard(login, signingIn) {
      discarding.signal.addEventListener('abort', () => login.abort(), { signal: login.signal })
      return abortable(signingIn, discarding.signal)
    },
    discard() {
      discarding.abort()
      discarding = new AbortController()
      pending = result = undefined
      if (!isCallback()) return
      logins.ignore(location.href)
      hideCallback()
    },
    get isPending() {
      return (isCallback() && logins.resultOf(location.href) === undefined) || logins.running() !== undefined
    },
    get returnTo() {
      return isAtRedirectUri(redirectUri, location.href) ? returnTo : undefined
    },
  }
}

/** Sends the page to the URL that `start` resolves with, unless a login is being finished. */
export async function leaveToSignIn(login: LoginFinisher, start: () => Promise<string>): Promise<void> {
  // A new login must not replace the one that is being finished.
  if (login.isPending) return void (await login.finish())
  // The sign-in page of a service refuses to be shown in a frame, and then the frame shows an error page.
  if (globalThis.top && globalThis.top !== globalThis.self)
    invalid('a frame cannot show a login. Use a popup of createBrowserAuth, or open the page in a tab')
  login.discard()
  await untilShown()
  location.assign(await start())
}

/** Finishes the login if the page is its callback, and resolves with the state that `ready` reads. */
export async function readyAfter(login: LoginFinisher, ready: Session['ready']): Promise<SessionState> {
  const finished = Promise.resolve(login.finish())
  // After a failed login the state of the session must be known as well.
  if (!(await succeeds(finished))) await succeeds(ready())
  await finished
  return ready()
}

function replaceUrl(path: string): void {
  history.replaceState(history.state, '', path)
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
