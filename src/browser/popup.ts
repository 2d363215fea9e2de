import { createLogin } from '../authorize.ts'
import { acceptCallback } from '../callback.ts'
import type { AuthConfig } from '../config.ts'
import { AgentAuthError } from '../errors.ts'
import type { Grant } from '../grant.ts'
import { abortable, abortedError, sleep, withDeadline, withTimeout } from '../internal/timeouts.ts'
import { attempt, checkNames, invalid } from '../internal/values.ts'
import { markedState } from './callback-url.ts'

/** As long as a user may need for a password manager. */
const defaultTimeoutMs = 300_000
/** How often a page looks whether its popup was closed. */
const checkEveryMs = 250
/** How long a popup waits for the page that opened it. */
const maxHandOverMs = 3_000
/** How long a popup that hands over its callback shows nothing. The browser closes it sooner. */
const closingMs = 1_000

/** The options of `popupLogin`. */
export interface PopupLoginOptions {
  /** How long a login may take, from the click to its callback, in milliseconds. Then `signIn` rejects with `timeout`. Default: 300,000. */
  readonly timeoutMs?: number | undefined
  /** The third argument of `window.open`. Default `popup,width=480,height=720`. */
  readonly features?: string | undefined
}

/** Login in a window of its own, for the option `popup`. Apps that do not import it do not load it. */
export interface PopupLogin {
  /** Opens the window and resolves when the user is signed in. */
  signIn(
    app: PopupApp,
    options: { params?: Readonly<Record<string, string>> | undefined; signal?: AbortSignal | undefined },
  ): Promise<void>
  /** Sends the callback from the window to the page that opened it, and closes the window. Rejects with `flow_not_found` if that page is gone. */
  handOver(name: string, address: string): Promise<void>
}

export interface PopupApp {
  readonly config: AuthConfig
  readonly name: string
  /** Exchanges the code and signs the user in. Rejects with `aborted` if the login is aborted or the user signs out first. */
  readonly redeem: (grant: Grant, login: AbortController) => Promise<void>
}

/**
 * Makes `signIn({ mode: 'popup' })` possible. The verifier never leaves the page. The window sends back the query
 * of its callback over a BroadcastChannel, so it works if the authorization server sends `Cross-Origin-Opener-Policy: same-origin`,
 * which disconnects the window from the page that opened it. Throws `config_invalid`.
 */
export function popupLogin(options: PopupLoginOptions = {}): PopupLogin {
  const own = checkNames('popupLogin', options, ['timeoutMs', 'features'])
  const { timeoutMs = defaultTimeoutMs, features = 'popup,width=480,height=720' } = own
  if (!(Number.isFinite(timeoutMs) && timeoutMs >= 0)) invalid('timeoutMs must be milliseconds')
  let latest: AbortController | undefined
  return {
    async signIn({ config, name, redeem }, { params, signal }) {
      if (signal?.aborted) throw abortedError()
      const login = new AbortController()
      const { signal: ended } = login
      // The constructor is missing in old browsers, and throws if the browser blocks site data.
      const channel = attempt(() => openChannel(name, ended))
      // Opened before the first await, because browsers open a window only in response to a click.
      const popup = channel && window.open('', '_blank', features)
      if (!popup || popup.closed) {
        login.abort()
        throw new AgentAuthError(
          'popup_blocked',
          'The browser blocks the popup or its site data. Call signIn() in a click handler.',
        )
      }
      latest?.abort()
      latest = login
      const finish = async (): Promise<void> => {
        const state = markedState('popup')
        const { url, pending } = await createLogin(config, { params, state })
        // No page in the window may navigate the page that opened it.
        popup.opener = null
        popup.location.href = url.href
        const received = receiveCallback(channel, state, config.redirectUri)
        const callback = await withTimeout(timeoutMs, Promise.race([received, untilClosed(popup, ended)]))
        await redeem(acceptCallback(pending, callback, config.clock.wallMs()), login)
      }
      try {
        await abortable(abortable(finish(), ended), signal)
      } finally {
        login.abort()
        popup.close()
      }
    },
    handOver,
  }
}

async function handOver(name: string, address: string): Promise<void> {
  const { search, searchParams } = new URL(address)
  const state = searchParams.get('state')
  const deliver = (ended: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const channel = openChannel(name, ended)
      channel.onmessage = ({ data }) => {
        if (data?.type === 'received' && data.state === state) resolve()
      }
      channel.postMessage({ type: 'callback', search })
    })
  await withDeadline(maxHandOverMs, deliver).catch(() => {
    throw new AgentAuthError('flow_not_found', 'The page that opened this window is gone. Start the login again.')
  })
  window.close()
  // The app does not render in the moment before the browser closes the window.
  await sleep(closingMs)
}

/** Resolves with the callback of the login with this state, and ignores every other message. */
function receiveCallback(channel: BroadcastChannel, state: string, redirectUri: string): Promise<string> {
  return new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      if (data?.type !== 'callback') return
      const callback = new URL(redirectUri)
      callback.search = data.search
      if (callback.searchParams.get('state') !== state) return
      channel.postMessage({ type: 'received', state })
      resolve(callback.href)
    }
  })
}

/**
 * Rejects with `popup_closed`. A window whose page sends `Cross-Origin-Opener-Policy` looks closed as well. Therefore closing counts only if the window has shown another page before, and while this page has the focus;
 * otherwise the time-out decides.
 */
function untilClosed(popup: Window, ended: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    let sightings = 0
    const timer = setInterval(() => {
      // One sighting does not count, because the window can show another page for a moment while it is disconnected.
      if (!popup.closed) sightings += attempt(() => popup.location.href) === 'about:blank' ? 0 : 1
      else if (sightings > 1 && Document.prototype.hasFocus.call(document))
        reject(new AgentAuthError('popup_closed', 'The popup was closed before the login was finished.'))
    }, checkEveryMs)
    ended.addEventListener('abort', () => clearInterval(timer))
  })
}

function openChannel(name: string, ended: AbortSignal): BroadcastChannel {
  const channel = new BroadcastChannel(`${name}:popup`)
  ended.addEventListener('abort', () => channel.close())
  return channel
}
