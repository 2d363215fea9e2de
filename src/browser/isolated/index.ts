import { allowedTargets, originOf } from '../../bearer/targets.ts'
import { abortable, succeeds } from '../../internal/timeouts.ts'
import { attempt, checkNames, invalid } from '../../internal/values.ts'
import { checkServiceUrl } from '../../service-url.ts'
import type { SessionState } from '../../session/memory.ts'
import type { Session } from '../../session.ts'
import type { BrowserAuth } from '../auth.ts'
import { callbackMode } from '../callback-url.ts'
import { leaveToSignIn, loginFinisher, readyAfter } from '../finish-login.ts'
import { countAutomatic, noteSuccess } from '../login-loop.ts'
import { checkOrigin, type SignInOptions, signInOptions, signOutOptions } from '../options.ts'
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
export type IsolatedSession = Pick<Session, 'state' | 'claims' | 'getSnapshot' | 'subscribe'>

/**
 * Sign-in, state and requests of a page whose worker has the tokens, as those of `createBrowserAuth`. Each call starts the worker, and
 * rejects with `config_invalid` if it does not start. `fetch` sends requests under `baseUrl` by the worker, and others by the page.
 */
export interface IsolatedAuth extends Omit<BrowserAuth, 'signIn' | 'session' | 'close'> {
  /** Sends the user to the authorization server. Rejects as that of `createBrowserAuth`. */
  signIn(options?: IsolatedSignInOptions): Promise<void>
  /** The state of the session. */
  readonly session: IsolatedSession
  /** Ends the worker with its calls, and a session that is in its memory alone. */
  close(): void
}

/**
 * Signs users in from a page whose tokens are in a dedicated worker: scripts of the page can use the session, and read no token from it.
 * docs/security.md says what that protects. The worker starts at the first call. Throws `config_invalid`.
 */
export function createIsolatedAuth(options: IsolatedAuthOptions): IsolatedAuth {
  const names = ['worker', 'redirectUri', 'navigate']
  const { worker, redirectUri, navigate } = checkNames('createIsolatedAuth', options, names)
  if (typeof worker !== 'function') invalid('worker must be a function that returns the worker')
  checkServiceUrl('redirectUri', redirectUri)
  const listeners = new Set<{ listener: () => void }>()
  let state: SessionState = { status: 'loading' }
  let starting: Promise<WorkerConnection> | undefined

  function changed(next: SessionState): void {
    state = next
    // An error in one listener must not affect the other listeners.
    for (const { listener } of [...listeners]) attempt(listener)
  }
  async function connect(): Promise<WorkerConnection> {
    await untilShown()
    starting ??= connectWorker(worker, changed).catch((error) => {
      starting = undefined
      throw error
    })
    const connection = await starting
    if (connection.redirectUri !== redirectUri) invalid('redirectUri must be that of serveAuth')
    return connection
  }
  async function readState(): Promise<SessionState> {
    await (await connect()).ask('ready', [])
    return state
  }
  const login = loginFinisher({
    redirectUri,
    name: `isolated:${redirectUri}`,
    session: { ready: readState },
    navigate,
    async signIn(callback) {
      const { grant, error } = await (await connect()).ask('finish', [callback.address])
      callback.grant = grant
      if (error) throw restoredError(error)
      await succeeds(noteSuccess(pageStorage, Date.now()))
    },
  })
  const closing = new AbortController()
  const withWorker = (work: (connection: WorkerConnection) => void): void => void starting?.then(work, () => {})
  if (globalThis.document) onReturn(() => withWorker(({ returned }) => returned()), closing.signal)
  const getSnapshot = (): SessionState => state
  function subscribe(listener: () => void): () => void {
    const entry = { listener }
    listeners.add(entry)
    return () => void listeners.delete(entry)
  }
  return {
    ready: () => readyAfter(login, readState),
    async signIn(given = {}) {
      const { mode, returnTo = login.returnTo ?? location.href, params } = signInOptions(given)
      if (mode === 'popup') invalid('signIn in a popup needs createBrowserAuth')
      checkOrigin(redirectUri)
      await leaveToSignIn(login, async () => {
        await countAutomatic(pageStorage, Date.now())
        return (await connect()).ask('signIn', [returnTo, params])
      })
    },
    async signOut(given = {}) {
      const { atService, returnTo = location.href } = signOutOptions(given)
      login.discard()
      const url = await (await connect()).ask('signOut', [atService ? returnTo : undefined])
      if (url) location.assign(url)
    },
    async fetch(input: Parameters<typeof fetch>[0], init?: RequestInit) {
      const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
      const connected = succeeds(Promise.resolve(login.isPending && login.finish())).then(connect)
      const connection = await abortable(connected, signal).catch((error) => {
        throw signal?.aborted ? signal.reason : error
      })
      const url = allowedTargets({ baseUrl: connection.baseUrl })(input)
      if (url !== undefined) return sendRequest(connection, input instanceof Request ? input : url, init)
      // Throws for a URL with a user name or password.
      originOf(input)
      return fetch(input, init)
    },
    // Not enumerable, so that no log of a session shows claims.
    session: Object.defineProperties({ getSnapshot, subscribe } as IsolatedSession, {
      state: { get: getSnapshot },
      claims: { get: () => state.claims },
    }),
    isCallbackUrl: (url) => callbackMode(redirectUri, url) !== undefined,
    close() {
      closing.abort()
      withWorker(({ close }) => close())
      starting = undefined
    },
  }
}
