import { generateRandomState } from 'oauth4webapi'
import { startLogin } from '../../authorize.ts'
import { readCallback } from '../../callback.ts'
import { type AuthConfig, checkConfig } from '../../config.ts'
import { AgentAuthError, type AgentAuthErrorCode, isAgentAuthError } from '../../errors.ts'
import { exchangeCode } from '../../exchange.ts'
import type { Grant } from '../../grant.ts'
import { maxLoginMs } from '../../internal/limits.ts'
import { abortable, abortedError, deferred, sleep, succeeds, withDeadline } from '../../internal/timeouts.ts'
import { attempt, checkNames, checkSignal, invalid } from '../../internal/values.ts'
import type { Tokens } from '../../tokens.ts'
import { browserWaitMs, defaultLoopbackMs, lastPageMs } from '../limits.ts'
import { arePorts, listenOnLoopback } from './listen.ts'
import { createPastePrompt, type Terminal } from './paste.ts'
import { type CallbackServer, respond } from './respond.ts'

/** The options of `signInWithLoopback`. */
export interface LoopbackOptions {
  /**
   * Opens a URL in the user's browser, for example by the package `open`. It is an address of this login on the loopback port, which
   * leads to the authorize URL once, because other users of the machine can read the arguments of a program. If it is absent, throws or
   * rejects, the authorize URL is printed, and the user can paste the URL of the callback. The same happens if no callback came within
   * 3 s, because a program that opens no browser may not fail. A stdin that is no terminal is not read in that case.
   */
  readonly openBrowser?: ((url: string) => unknown) | undefined
  /** Ports to listen on, in this order, for a service that compares ports. Default: the port of `redirectUri`, or any free one. */
  readonly ports?: readonly number[] | undefined
  /** Where the URL is printed and the callback is pasted. Default: stdin and stderr. */
  readonly terminal?: Terminal | undefined
  /**
   * How long the login may take, in milliseconds, up to `maxLoginMs`, 600,000. Default: 300,000 (`defaultLoopbackMs`, 5 minutes).
   */
  readonly timeoutMs?: number | undefined
  /** Further authorize parameters, as in `startLogin`. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** Ends the login. */
  readonly signal?: AbortSignal | undefined
}

const optionNames = ['openBrowser', 'ports', 'terminal', 'timeoutMs', 'params', 'signal']

/** With the right `state`, these end the login. A callback with another error may come from another page. */
const final: readonly AgentAuthErrorCode[] = ['login_denied', 'login_failed', 'issuer_mismatch', 'flow_expired']

/**
 * Signs the user in with the browser of this machine and a callback on a loopback port, and returns the tokens for `signIn` of a
 * session. The redirect URI of the config must be `http://127.0.0.1` or `http://[::1]` with any path. The browser then shows a page
 * that says to return to the terminal, also if the user denies the login. A request that is not the callback of this login gets an
 * error page, and the login goes on. When the promise settles, the port is free. Rejects with `config_invalid`,
 * `login_failed` if every port is busy, `timeout`, `aborted`, and the codes of `readCallback` and `exchangeCode`. RFC 8252 section
 * 7.3.
 */
export async function signInWithLoopback(config: AuthConfig, given: LoopbackOptions = {}): Promise<Tokens> {
  checkConfig(config)
  const options = checkNames('signInWithLoopback', given, optionNames)
  const { openBrowser, timeoutMs = defaultLoopbackMs, signal } = options
  if (openBrowser !== undefined && typeof openBrowser !== 'function') invalid('openBrowser must be a function')
  checkSignal(signal)
  const registered = new URL(config.redirectUri)
  if (registered.protocol !== 'http:' || !/^(127\.0\.0\.1|\[::1])$/.test(registered.hostname))
    invalid('redirectUri must begin with http://127.0.0.1 or http://[::1] for a login on loopback')
  const { ports = [Number(registered.port)] } = options
  if (!arePorts(ports)) invalid('ports must be a list of whole numbers from 0 to 65535')
  if (!(timeoutMs > 0 && timeoutMs <= maxLoginMs)) invalid(`timeoutMs must be above 0 and at most ${maxLoginMs}`)
  if (signal?.aborted) throw abortedError()
  const login = new AbortController()
  const hosts = registered.hostname === '[::1]' ? ['::1'] : ['127.0.0.1', '::1']
  let server: CallbackServer | undefined
  const listener = await listenOnLoopback(hosts, ports, (request, response) => {
    // A request that comes before the login is there cannot be its callback.
    if (server) respond(server, request, response)
    else response.destroy()
  })
  try {
    const run = async (): Promise<Tokens> => {
      const redirectUri = listener.origin + registered.pathname + registered.search
      const callback = await startCallback({ ...config, redirectUri }, options, login.signal)
      server = { origin: listener.origin, redirectUri, ...callback }
      callback.open()
      return finish(config, callback, login.signal)
    }
    return await withDeadline(timeoutMs, run, signal).catch((error) => {
      throw isAgentAuthError(error) && error.code === 'timeout' ? lateLogin(config, options, timeoutMs) : error
    })
  } finally {
    login.abort()
    await listener.close()
  }
}

function lateLogin(
  { authorizationEndpoint }: AuthConfig,
  { openBrowser }: LoopbackOptions,
  timeoutMs: number,
): AgentAuthError {
  const { origin } = new URL(authorizationEndpoint)
  const remedy = openBrowser ? ' If no browser opened, sign in without openBrowser.' : ''
  const message = `No login at ${origin} was finished within ${timeoutMs} ms. See what the browser shows.${remedy}`
  return new AgentAuthError('timeout', message, { retryable: true })
}

/** A login that waits for its callback. */
interface Callback extends Pick<CallbackServer, 'start' | 'accept' | 'onShown'> {
  /** Sends the user to the authorization server. */
  open(): void
  /** Resolves when the callback came, or rejects with the refusal in it. */
  readonly grant: Promise<Grant>
  /** Resolves when the browser has shown the last page. */
  readonly shown: Promise<void>
  /** Whether the browser is about to ask for the last page. */
  isRedirected(): boolean
}

async function startCallback(config: AuthConfig, options: LoopbackOptions, signal: AbortSignal): Promise<Callback> {
  const { openBrowser, terminal = { input: process.stdin, output: process.stderr }, params } = options
  const { url, pending } = await startLogin(config, { params })
  const { promise: grant, resolve, reject } = deferred<Grant>()
  const { promise: shown, resolve: onShown } = deferred<void>()
  let isRedirected = false
  const check = (address: string): AgentAuthError | undefined => {
    try {
      resolve(readCallback(pending, address, { nowMs: config.clock.wallMs() }))
    } catch (error) {
      if (!isAgentAuthError(error)) throw error
      if (!final.includes(error.code)) return error
      reject(error)
    }
    return undefined
  }
  const startPath = `/start/${generateRandomState()}`
  let isStarted = false
  const answered = new AbortController()
  void succeeds(abortable(grant, signal)).then(() => answered.abort())
  const accept = (address: string): string | undefined =>
    isCut(address, pending.state) ? 'The URL is cut, as terminals do with long lines.' : check(address)?.message
  const prompt = createPastePrompt(terminal, url.href, { accept, signal: answered.signal })
  return {
    start(path) {
      if (path !== startPath) return undefined
      // Another user of the machine may have read the address and taken the authorize URL.
      if (isStarted) reject(openedTwice())
      const target = isStarted ? 'used' : url.href
      isStarted = true
      return target
    },
    accept(address) {
      const isOurs = check(address) === undefined
      isRedirected ||= isOurs
      return isOurs
    },
    onShown,
    open() {
      if (!openBrowser) return prompt.ask()
      Promise.resolve(new URL(startPath, config.redirectUri).href).then(openBrowser).catch(prompt.ask)
      // A stdin that is no terminal may be the input of the tool, and a browser has probably opened.
      const mayRead = terminal === options.terminal || process.stdin.isTTY
      void succeeds(sleep(browserWaitMs, answered.signal)).then(() => prompt.remind(mayRead))
    },
    grant,
    shown,
    isRedirected: () => isRedirected,
  }
}

function openedTwice(): AgentAuthError {
  return new AgentAuthError(
    'login_failed',
    'Two programs opened the address of this login, so it was ended. Start the login again.',
    { retryable: true },
  )
}

/** Returns whether the state of a callback is missing or the beginning of the right one. */
function isCut(address: string, state: string): boolean {
  const parameters = attempt(() => new URL(address))?.searchParams
  const given = parameters?.get('state') ?? ''
  return parameters?.has('code') === true && given !== state && state.startsWith(given)
}

/** Exchanges the code, and lets the browser fetch the last page before the port is closed. */
async function finish(config: AuthConfig, callback: Callback, signal: AbortSignal): Promise<Tokens> {
  // Ends the wait and the request together with the login, because a timer or a socket would keep the process from its exit.
  const fetch: AuthConfig['fetch'] = (input, init) =>
    config.fetch(input, { ...init, signal: AbortSignal.any([signal, ...(init.signal ? [init.signal] : [])]) })
  const tokens = abortable(callback.grant, signal).then((grant) =>
    exchangeCode({ ...config, fetch }, grant, { signal }),
  )
  await succeeds(tokens)
  if (callback.isRedirected())
    await Promise.race([callback.shown, succeeds(abortable(sleep(lastPageMs, signal), signal))])
  return tokens
}
