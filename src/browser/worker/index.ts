import { createLogin } from '../../authorize.ts'
import { allowedTargets, forbid } from '../../bearer/targets.ts'
import { bearerFetch } from '../../bearer.ts'
import { configFrom } from '../../config.ts'
import { endSessionUrl } from '../../end-session.ts'
import { invalid } from '../../internal/values.ts'
import { loginRecords } from '../../pending-logins.ts'
import type { SessionState } from '../../session/memory.ts'
import { sessionName } from '../../session/record.ts'
import { markedState } from '../callback-url.ts'
import type { Callback } from '../finish-login.ts'
import { type BrowserAuthOptions, checkAuthOptions } from '../options.ts'
import { redeemCallback } from '../redeem-login.ts'
import { indexedDbStorage } from '../storage/indexed-db.ts'
import { createTabSession } from '../tabs/tab-session.ts'
import { answerFetch, type RunningFetch } from './answer-fetch.ts'
import { type Calls, type Hello, plainError, type ToPage, type ToWorker } from './messages.ts'

/**
 * The options of `serveAuth`: those of `createBrowserAuth` without those of the page. A worker has no sessionStorage, so pending logins
 * are in IndexedDB by default.
 */
export type WorkerAuthOptions = Omit<BrowserAuthOptions, 'popup' | 'navigate'>

type Handlers = {
  readonly [K in Exclude<keyof Calls, 'fetch'>]: (given: Calls[K]['given']) => Promise<Calls[K]['result']>
}

/**
 * Signs in, keeps the session and sends the requests of the page that started this worker with `createIsolatedAuth`. The tokens stay
 * here. The token goes to `baseUrl`, and a request elsewhere is refused. Call it once, when the worker starts. If an option is invalid,
 * the calls of the page reject with `config_invalid`. Outside of a dedicated worker it throws this code.
 */
export function serveAuth(options: WorkerAuthOptions): void {
  if (!('DedicatedWorkerGlobalScope' in globalThis)) invalid('serveAuth belongs in the file of a worker')
  const send = (message: ToPage): void => postMessage(message)
  try {
    send({ hello: serve(options, send) })
  } catch (error) {
    // Not thrown, because the page could hear of it as of a worker that does not load.
    send({ failed: plainError(error) })
  }
}

function serve(given: WorkerAuthOptions, send: (message: ToPage) => void): Hello {
  const options = checkAuthOptions('serveAuth', given)
  const { storage, key = 'default', loginStorage = indexedDbStorage() } = options
  const config = configFrom(options)
  const { baseUrl, redirectUri, clock } = config
  let login = new AbortController()
  const signedOut = (): void => {
    login.abort()
    login = new AbortController()
  }
  const { session } = createTabSession(config, { storage, key, name: sessionName(config, key), signedOut })
  const fetch = bearerFetch(session, {
    targetOf: allowedTargets({ baseUrl }),
    fetch: options.fetch,
    // The policy of the page decides about requests elsewhere.
    onElsewhere: forbid,
  })
  const parts = { config, session, loginStorage }
  const requests = new Map<number, RunningFetch>()
  /** The callback that came last, because a failed login can be tried again with its grant. */
  let callback: Callback | undefined
  let told: SessionState | undefined

  function tell(): void {
    if (told === session.state) return
    told = session.state
    send({ state: told })
  }

  const handlers: Handlers = {
    async ready() {
      await session.ready()
      return undefined
    },
    async finish(address) {
      if (callback?.address !== address) callback = { address }
      const { signal } = login
      const current = callback
      const error = await redeemCallback(parts, current, signal).then(() => undefined, plainError)
      // A sign-out, here or in another tab, is no failure of the login.
      return signal.aborted ? {} : { grant: current.grant, error }
    },
    async signIn({ returnTo, params }) {
      const { url, pending } = await createLogin(config, { returnTo, params, state: markedState('redirect') })
      await loginRecords(loginStorage, clock).save(pending)
      return url.href
    },
    async signOut(returnTo) {
      await session.signOut()
      return returnTo === undefined ? undefined : endSessionUrl(config, { returnTo }).href
    },
  }

  async function answer<K extends keyof Handlers>(id: number, call: K, given: Calls[K]['given']): Promise<void> {
    const last = await handlers[call](given).then(
      (result) => ({ id, result }),
      (error) => ({ id, error: plainError(error) }),
    )
    // The page knows the state before the call ends.
    tell()
    send(last)
  }

  session.subscribe(tell)
  addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
    const { id, call } = data
    if (call === 'returned') dispatchEvent(new Event('resume'))
    else if (call === 'drained') requests.get(id)?.drained()
    else if (call === 'abort') requests.get(id)?.abort()
    else if (call === 'fetch') void answerFetch({ id, fetch, send, requests }, data.given)
    else void answer(id, call, data.given as never)
  })
  return { baseUrl, redirectUri }
}
