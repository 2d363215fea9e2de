import { forbidUserInfo } from '../../bearer/targets.ts'
import type { TokenClaims } from '../../claims.ts'
import { abortable, succeeds } from '../../internal/timeouts.ts'
import { attempt, checkNames, invalid } from '../../internal/values.ts'
import { checkServiceUrl } from '../../service-url.ts'
import type { SessionState } from '../../session/memory.ts'
import { callbackMode } from '../callback-url.ts'
import { leaveToSignIn, loginFinisher } from '../finish-login.ts'
import { countAutomatic } from '../login-loop.ts'
import { checkOrigin, type SignInOptions, type SignOutOptions, signInOptions, signOutOptions } from '../options.ts'
import { untilShown } from '../prerendering.ts'
import { pageStorage } from '../storage/pending-login-storage.ts'
import { onReturn } from '../tabs/tab-channel.ts'
import { restoredError } from '../worker/messages.ts'
import { connectWorker, type WorkerConnection } from './connection.ts'
import { sendRequest } from './send-request.ts'

/** The options of `createIsolatedAuth`. */
export interface IsolatedAuthOptions {
  /**
   * Creates the worker whose file calls `serveAuth`. Write `new Worker(new URL('./auth-worker.ts', import.meta.url), { type: 'module' })`
   * in it, so that bundlers find the file.
   */
  readonly worker: () => Worker
  /** The redirect URI of `serveAuth`, so that the page knows its callback before the worker has started. */
  readonly redirectUri: string
  /** Shows the return URL after the login. Default: `history.replaceState`, for a router that starts after `ready()`. */
  readonly navigate?: ((path: string) => void) | undefined
}

/** The options of `signIn` of an isolated session. */
export type IsolatedSignInOptions = Pick<SignInOptions, 'returnTo' | 'params'>

/** The session of a worker, as its page knows it. The page can get no token. */
export interface IsolatedSession {
  /** What is known about the signed-in user. The same object until something changes. */
  readonly state: SessionState
  /** `claims` of the state, at the place where a `Session` has them. */
  readonly claims: TokenClaims | undefined
  /** Returns `state`. With `subscribe`, this makes the session a store, for example of `useSyncExternalStore`. */
  getSnapshot(): SessionState
  /** Calls the listener after each change of `state`. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
}

/** Sign-in, state and requests of a page whose worker has the tokens. */
export interface IsolatedAuth {
  /**
   * Starts the worker, finishes the login if this page is its callback, and resolves with the state. You can call it any number of times.
   * Rejects as that of `createBrowserAuth`, and with `config_invalid` if the worker does not start. The next call starts another one.
   */
  ready(): Promise<SessionState>
  /** Sends the user to the authorization server. Rejects as that of `createBrowserAuth`. */
  signIn(options?: IsolatedSignInOptions): Promise<void>
  /** Ends the session in all tabs, as that of `createBrowserAuth`. Rejects with `storage_failed` if the record may remain. */
  signOut(options?: SignOutOptions): Promise<void>
  /** Sends requests under `baseUrl` by the worker, which adds the token, and others by the page. */
  readonly fetch: typeof fetch
  /** The state of the session. */
  readonly session: IsolatedSession
  /** Returns whether a URL is a callback of this app, for routers and service workers. It has no side effect. */
  isCallbackUrl(url: string | URL): boolean
  /** Ends the worker with its calls, and a session that is in its memory alone. */
  close(): void
}

/**
 * Signs users in from a page whose tokens are in a dedicated worker: scripts of the page can use the session, and read no token from it.
 * docs/security.md says what that protects. The worker starts at the first call. Throws `config_invalid`.
 */
export function createIsolatedAuth(options: IsolatedAuthOptions): IsolatedAuth {
  const own = checkNames('createIsolatedAuth', options, ['worker', 'redirectUri', 'navigate'])
  const { worker, redirectUri, navigate = replaceUrl } = own
  if (typeof worker !== 'function') invalid('worker must be a function that returns the worker')
  checkServiceUrl('redirectUri', redirectUri)
  const { session, changed } = pageState()
  const closing = new AbortController()
  let starting: Promise<WorkerConnection> | undefined

  async function connect(): Promise<WorkerConnection> {
    await untilShown()
    starting ??= connectWorker(worker, { redirectUri, changed })
    const current = starting
    return current.catch((error) => {
      if (starting === current) starting = undefined
      throw error
    })
  }
  async function readState(): Promise<SessionState> {
    await (await connect()).ask('ready', undefined)
    return session.state
  }
  const login = loginFinisher({
    redirectUri,
    name: `isolated:${redirectUri}`,
    session: { ready: readState },
    navigate,
    async signIn(callback) {
      const { grant, error } = await (await connect()).ask('finish', callback.address)
      callback.grant = grant
      if (error) throw restoredError(error)
    },
  })
  async function connectAfterLogin(): Promise<WorkerConnection> {
    if (login.isPending) await succeeds(Promise.resolve(login.finish()))
    return connect()
  }
  if (globalThis.document)
    onReturn(() => void starting?.then((connection) => connection.returned()).catch(() => {}), closing.signal)
  return {
    async ready() {
      const finished = Promise.resolve(login.finish())
      // After a failed login the state of the session must be known as well.
      if (!(await succeeds(finished))) await succeeds(readState())
      await finished
      return readState()
    },
    async signIn(given = {}) {
      const { mode, returnTo = login.returnTo ?? location.href, params } = signInOptions(given)
      if (mode === 'popup') invalid('signIn in a popup needs createBrowserAuth')
      checkOrigin(redirectUri)
      await leaveToSignIn(login, async () => {
        await countAutomatic(pageStorage, Date.now())
        return (await connect()).ask('signIn', { returnTo, params })
      })
    },
    async signOut(given = {}) {
      const { atService, returnTo = location.href } = signOutOptions(given)
      login.discard()
      const url = await (await connect()).ask('signOut', atService ? returnTo : undefined)
      if (url) location.assign(url)
    },
    async fetch(input: Parameters<typeof fetch>[0], init?: RequestInit) {
      const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
      const connection = await abortable(connectAfterLogin(), signal).catch((error) => {
        throw signal?.aborted ? signal.reason : error
      })
      const url = connection.targetOf(input)
      if (url !== undefined) return sendRequest(connection, input instanceof Request ? input : url, init)
      forbidUserInfo(input)
      return fetch(input, init)
    },
    session,
    isCallbackUrl: (url) => callbackMode(redirectUri, url) !== undefined,
    close() {
      closing.abort()
      void starting?.then(({ close }) => close()).catch(() => {})
      starting = undefined
    },
  }
}

/** Returns the session of the page, and a function that sets its state. */
function pageState(): { session: IsolatedSession; changed: (state: SessionState) => void } {
  const listeners = new Set<() => void>()
  let state: SessionState = { status: 'loading' }
  const getSnapshot = (): SessionState => state
  const methods = {
    getSnapshot,
    subscribe(listener: () => void) {
      const own = (): void => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },
  }
  const session = Object.defineProperties(methods, {
    state: { get: getSnapshot, configurable: true },
    claims: { get: () => state.claims, configurable: true },
  }) as IsolatedSession
  return {
    session,
    changed(next) {
      state = next
      // An error in one listener must not affect the other listeners.
      for (const listener of [...listeners]) attempt(listener)
    },
  }
}

function replaceUrl(path: string): void {
  history.replaceState(history.state, '', path)
}
