import { startLogin } from '../authorize.ts'
import { readCallback } from '../callback.ts'
import { checkOptions, type OptionKinds } from '../config/options.ts'
import type { AuthConfig } from '../config.ts'
import { AgentAuthError } from '../errors.ts'
import type { Grant } from '../grant.ts'
import { randomText } from '../internal/base64url.ts'
import { sleep, withDeadline } from '../internal/timeouts.ts'
import { markedState } from './callback-url.ts'

/** The options of `popupLogin`. */
export interface PopupLoginOptions {
  /** How long a login may take where the browser hides that the window was closed. Milliseconds, default 300,000. */
  readonly timeoutMs?: number | undefined
  /** The third argument of `window.open`. Default `popup,width=480,height=720`. */
  readonly features?: string | undefined
}

/** Login in a window of its own, for the option `popup`: apps that do not use it do not load it. */
export interface PopupLogin {
  /** Opens the window and resolves when the user is signed in. */
  signIn(
    app: PopupApp,
    options: { params?: Readonly<Record<string, string>> | undefined; signal?: AbortSignal | undefined },
  ): Promise<void>
  /** In the popup: gives the callback to the page that opened it, and closes the window. */
  handOver(name: string, address: string): Promise<void>
}

export interface PopupApp {
  readonly config: AuthConfig
  readonly name: string
  /** Exchanges the code and signs the user in. Rejects with `aborted` if the user signs out first. */
  readonly redeem: (grant: Grant) => Promise<void>
}

interface Awaited {
  readonly channelName: string
  readonly state: string
  readonly redirectUri: string
}

const optionKinds: OptionKinds<PopupLoginOptions> = { timeoutMs: 'number', features: 'string' }

const pollMs = 250
const answerMs = 3_000
const protocol = /^(code|state|error|error_description|error_uri|iss)(\[|$)/

/**
 * Makes `signIn({ mode: 'popup' })` possible. The verifier never leaves the page; the window hands back `code`, `state` and
 * `iss` over a BroadcastChannel, so that it works when the service's pages cut the tie between windows (COOP). Throws `config_invalid`.
 */
export function popupLogin(options: PopupLoginOptions = {}): PopupLogin {
  checkOptions('popupLogin', options, optionKinds)
  const { timeoutMs = 300_000, features = 'popup,width=480,height=720' } = options
  let supersede = (): void => {}
  return {
    async signIn({ config, name, redeem }, { params, signal }) {
      if (!globalThis.BroadcastChannel)
        throw new AgentAuthError('popup_blocked', 'This browser has no BroadcastChannel for a popup: redirect.')
      // Before anything is awaited: browsers open a window only in answer to a click.
      const popup = window.open('', '_blank', features)
      if (!popup || popup.closed)
        throw new AgentAuthError(
          'popup_blocked',
          'The browser blocked the popup. Call signIn in a click handler, or redirect.',
        )
      supersede()
      let isLast = true
      supersede = () => {
        isLast = false
      }
      try {
        const state = markedState('popup', randomText())
        const { url, pending } = await startLogin(config, { params, state })
        if (!isLast) throw superseded()
        // No page in the window may send the page that opened it elsewhere.
        popup.opener = null
        popup.location.href = url.href
        const awaited = { channelName: channelName(name), state, redirectUri: config.redirectUri }
        const wait = (ended: AbortSignal): Promise<string> =>
          new Promise((resolve, reject) => {
            supersede = () => reject(superseded())
            receive(awaited, resolve, ended)
            noticeClosing(popup, reject, ended)
          })
        const callback = await withDeadline(timeoutMs, wait, signal)
        await redeem(readCallback(pending, callback, { nowMs: config.clock.wallMs() }))
      } finally {
        popup.close()
      }
    },
    async handOver(name, address) {
      const parameters = [...new URL(address).searchParams].filter(([key]) => protocol.test(key))
      const state = new URLSearchParams(parameters).get('state')
      const deliver = (ended: AbortSignal): Promise<void> =>
        new Promise((resolve) => {
          const channel = openChannel(channelName(name), ended)
          channel.onmessage = ({ data }) => {
            if (data?.type === 'received' && data.state === state) resolve()
          }
          channel.postMessage({ type: 'callback', parameters })
        })
      await withDeadline(answerMs, deliver).catch(() => {
        throw new AgentAuthError('flow_not_found', 'The page that opened this window is gone. Start the login again.')
      })
      window.close()
      // The app behind need not show itself in the moment before the window goes.
      await sleep(1_000)
    },
  }
}

/** Takes the callback of this login and no other message. */
function receive(
  { channelName, state, redirectUri }: Awaited,
  resolve: (callback: string) => void,
  ended: AbortSignal,
): void {
  const channel = openChannel(channelName, ended)
  channel.onmessage = ({ data }) => {
    const query = data?.type === 'callback' ? toQuery(data.parameters) : undefined
    if (query?.get('state') !== state) return
    channel.postMessage({ type: 'received', state })
    const callback = new URL(redirectUri)
    callback.search = query.toString()
    resolve(callback.href)
  }
}

function toQuery(parameters: unknown): URLSearchParams | undefined {
  try {
    return new URLSearchParams(parameters as string[][])
  } catch {
    return undefined
  }
}

/**
 * A window whose page cut the tie also looks closed. So closing counts only once the window was seen elsewhere, and while
 * the person looks at this page; otherwise the deadline decides.
 */
function noticeClosing(popup: Window, reject: (error: AgentAuthError) => void, ended: AbortSignal): void {
  let sightings = 0
  const timer = setInterval(() => {
    // While a page is cutting the tie the window can look elsewhere for a moment: one sighting does not count.
    if (!popup.closed) sightings += isElsewhere(popup) ? 1 : 0
    else if (sightings > 1 && document.hasFocus())
      reject(new AgentAuthError('popup_closed', 'The popup was closed before the login was finished.'))
  }, pollMs)
  ended.addEventListener('abort', () => clearInterval(timer))
}

function isElsewhere(popup: Window): boolean {
  try {
    return popup.location.href !== 'about:blank'
  } catch {
    return true
  }
}

function superseded(): AgentAuthError {
  return new AgentAuthError('aborted', 'Another popup login took this one’s place.')
}

function openChannel(name: string, ended: AbortSignal): BroadcastChannel {
  const channel = new BroadcastChannel(name)
  ended.addEventListener('abort', () => channel.close())
  return channel
}

function channelName(name: string): string {
  return `${name}:popup`
}
