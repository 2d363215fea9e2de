import { createLogin } from '../../authorize.ts'
import { allowedTargets, forbid } from '../../bearer/targets.ts'
import { bearerFetch } from '../../bearer.ts'
import { configFrom } from '../../config.ts'
import { urlOfSessionEnd } from '../../end-session.ts'
import { attempt, invalid } from '../../internal/values.ts'
import { loginRecords } from '../../pending-logins.ts'
import { sessionName } from '../../session/record.ts'
import { markedState } from '../callback-url.ts'
import type { Callback } from '../finish-login.ts'
import { type BrowserAuthOptions, checkAuthOptions } from '../options.ts'
import { redeemCallback } from '../redeem-login.ts'
import { indexedDbStorage } from '../storage/indexed-db.ts'
import { createTabSession } from '../tabs/tab-session.ts'
import { plainError, type Start, type ToPage, type ToWorker, type WorkerCalls } from './messages.ts'

/**
 * The options of `serveAuth`: those of `createBrowserAuth` without those of the page. A worker has no sessionStorage, so pending logins
 * are in IndexedDB by default.
 */
export type WorkerAuthOptions = Omit<BrowserAuthOptions, 'popup' | 'navigate'>

/** A shorter body is sent in one message, which is faster than a stream. */
const shortBodyBytes = 65_536

/**
 * Signs in, keeps the session and sends the requests of the page that started this worker with `createIsolatedAuth`. The tokens stay
 * here. The token goes to `baseUrl`, and a request elsewhere is refused. Call it once, when the worker starts. If an option is invalid,
 * the calls of the page reject with `config_invalid`. Outside of a dedicated worker it throws this code.
 */
export function serveAuth(options: WorkerAuthOptions): void {
  if (!('DedicatedWorkerGlobalScope' in globalThis)) invalid('serveAuth belongs in the file of a worker')
  try {
    postMessage({ id: 0, result: serve(options) } satisfies ToPage)
  } catch (error) {
    // Not thrown, because the page could hear of it as of a worker that does not load.
    postMessage({ id: 0, error: plainError(error) } satisfies ToPage)
  }
}

function serve(given: WorkerAuthOptions): Start {
  const options = checkAuthOptions(given)
  const { storage, key = 'default', loginStorage = indexedDbStorage() } = options
  const config = configFrom(options)
  const { baseUrl, redirectUri } = config
  let login = new AbortController()
  const signedOut = (): void => {
    login.abort()
    login = new AbortController()
  }
  const { session } = createTabSession(config, { storage, key, name: sessionName(config, key), signedOut })
  const targetOf = allowedTargets({ baseUrl })
  // The policy of the page decides about requests elsewhere.
  const send = bearerFetch(session, { targetOf, fetch: options.fetch, onElsewhere: forbid })
  /** The callback that came last, because a failed login can be tried again with its grant. */
  let callback: Callback | undefined
  const calls: WorkerCalls = {
    ready: async () => void (await session.ready()),
    async finish(address) {
      if (callback?.address !== address) callback = { address }
      const current = callback
      const { signal } = login
      const finished = redeemCallback({ config, session, loginStorage }, current, signal)
      const error = await finished.then(() => undefined, plainError)
      // A sign-out, here or in another tab, is no failure of the login.
      return signal.aborted ? {} : { grant: current.grant, error }
    },
    async signIn(returnTo, params) {
      const { url, pending } = await createLogin(config, { returnTo, params, state: markedState('redirect') })
      await loginRecords(loginStorage, config.clock).save(pending)
      return url.href
    },
    async signOut(returnTo) {
      await session.signOut()
      return returnTo === undefined ? undefined : urlOfSessionEnd(config, returnTo).href
    },
    async fetch(target, init, signal) {
      const response = await send(target, { ...init, signal: signal ?? null })
      const { status, statusText, url, redirected, type } = response
      const headers = [...response.headers] as [string, string][]
      const isWhole = Number(response.headers.get('content-length') ?? Infinity) <= shortBodyBytes || !canSendStreams()
      // Chromium has a body for these, which no Response can be made with.
      const hasBody = response.body !== null && ![204, 205, 304].includes(status)
      const body = hasBody ? (isWhole ? await response.arrayBuffer() : response.body) : null
      return { status, statusText, url, redirected, type, headers, body }
    },
  }
  const running = new Map<number, AbortController>()
  let told: unknown
  /** The page knows the state before the call ends that changed it. */
  function answer(to: ToPage, transfer: Transferable[] = []): void {
    const { state } = session
    postMessage({ ...to, state: state === told ? undefined : state } satisfies ToPage, { transfer })
    told = state
  }
  session.subscribe(() => answer({}))
  addEventListener('message', async ({ data: { id, call, given } }: MessageEvent<ToWorker>) => {
    if (call === 'returned') return void dispatchEvent(new Event('resume'))
    if (call === 'abort') return running.get(id)?.abort()
    const controller = new AbortController()
    running.set(id, controller)
    const asked = calls[call] as (...given: unknown[]) => Promise<unknown>
    await asked(...given, controller.signal).then(
      (result) =>
        answer(
          { id, result },
          [Object(result).body].filter((body) => body instanceof ReadableStream),
        ),
      (error) => answer({ id, error: plainError(error) }),
    )
    running.delete(id)
  })
  return { baseUrl, redirectUri }
}

/** Safari sends no stream to a page. */
function canSendStreams(): boolean {
  const stream = new ReadableStream()
  return attempt(() => structuredClone(stream, { transfer: [stream] })) !== undefined
}
