import { generateRandomState } from 'oauth4webapi'
import { startLogin } from '../../authorize.ts'
import { acceptCallback } from '../../callback.ts'
import type { AuthConfig } from '../../config.ts'
import { AgentAuthError, type AgentAuthErrorCode, isAgentAuthError } from '../../errors.ts'
import { exchangeCode } from '../../exchange.ts'
import type { Grant } from '../../grant.ts'
import { maxLoginMs } from '../../internal/limits.ts'
import { abortable, abortedError, deferred, sleep, succeeds, withDeadline } from '../../internal/timeouts.ts'
import { attempt, checkNames, checkSignal, invalid } from '../../internal/values.ts'
import type { Tokens } from '../../tokens.ts'
import { arePorts, type Listener, listenOnLoopback } from './listen.ts'
import { createPastePrompt, type Terminal } from './paste.ts'
import { respond } from './respond.ts'

/** How long a login may take by default, in milliseconds, as for a popup. */
export const defaultLoopbackMs = 300_000
/** How long after the opening of the browser the URL is printed, in milliseconds, because such a program may fail without a notice. */
export const browserWaitMs = 3_000
/** How long the port stays open for the last page after the tokens are there, in milliseconds. */
export const lastPageMs = 2_000

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
  /** How long the login may take, in milliseconds, up to 600,000. Default: 300,000. */
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
 * error page, and the login continues. When the promise settles, the port is free. Rejects with `config_invalid`,
 * `login_failed` if every port is busy, `timeout`, `aborted`, and the codes of `readCallback` and `exchangeCode`. RFC 8252 section
 * 7.3.
 */
export async function signInWithLoopback(config: AuthConfig, given: LoopbackOptions = {}): Promise<Tokens> {
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
  const hosts = registered.hostname === '[::1]' ? ['::1'] : ['127.0.0.1', '::1']
  const listener = await listenOnLoopback(hosts, ports)
  try {
    const redirectUri = listener.origin + registered.pathname + registered.search
    const login = (ended: AbortSignal) => signIn({ ...config, redirectUri }, options, listener, ended)
    return await withDeadline(timeoutMs, login, signal).catch((error) => {
      throw isAgentAuthError(error) && error.code === 'timeout' ? lateLogin(config, timeoutMs) : error
    })
  } finally {
    await listener.close()
  }
}

function lateLogin({ authorizationEndpoint }: AuthConfig, timeoutMs: number): AgentAuthError {
  const { origin } = new URL(authorizationEndpoint)
  const message = `No login at ${origin} was finished within ${timeoutMs} ms. See what the browser shows. If no browser opened, sign in without openBrowser.`
  return new AgentAuthError('timeout', message, { retryable: true })
}

async function signIn(
  config: AuthConfig,
  options: LoopbackOptions,
  { server, origin }: Listener,
  ended: AbortSignal,
): Promise<Tokens> {
  const { openBrowser, terminal = { input: process.stdin, output: process.stderr }, params } = options
  const { redirectUri } = config
  const { url, pending } = await startLogin(config, { params })
  const { promise: grant, resolve, reject } = deferred<Grant>()
  const { promise: shown, resolve: onShown } = deferred<void>()
  const answered = new AbortController()
  void succeeds(abortable(grant, ended)).then(() => answered.abort())
  /** Returns what is wrong with an address that does not end the login. */
  const read = (address: string): string | undefined => {
    try {
      resolve(acceptCallback(pending, address, config.clock.wallMs()))
    } catch (error) {
      if (!isAgentAuthError(error)) throw error
      if (!final.includes(error.code)) return error.message
      reject(error)
    }
    return undefined
  }
  const { path, start } = oneTimeAddress(url.href, () => reject(openedTwice()))
  let isRedirected = false
  const accept = (address: string): boolean => {
    const isOurs = read(address) === undefined
    isRedirected ||= isOurs
    return isOurs
  }
  server.on('request', (request, response) =>
    respond({ origin, redirectUri, start, accept, onShown }, request, response),
  )
  const prompt = createPastePrompt(terminal, url.href, {
    accept: (address) =>
      isCut(address, pending.state) ? 'The URL is cut, as terminals do with long lines.' : read(address),
    signal: answered.signal,
  })
  const ask = (): void => prompt('Open this URL', true)
  if (openBrowser) {
    Promise.resolve(origin + path)
      .then(openBrowser)
      .catch(ask)
    // A stdin that is no terminal may be the input of the tool, and a browser has probably opened.
    const mayRead = terminal === options.terminal || process.stdin.isTTY
    const remind = (): void => prompt('If no browser opened, open this URL', mayRead)
    sleep(browserWaitMs, answered.signal).then(remind, () => {})
  } else ask()
  const tokens = abortable(grant, ended).then((received) => redeem(config, received, ended))
  await succeeds(tokens)
  // The browser fetches the last page before the port is closed.
  if (isRedirected) await Promise.race([shown, succeeds(sleep(lastPageMs, ended))])
  return tokens
}

/** Returns a path that leads to the authorize URL once, because other users of the machine can read the arguments of a program. */
function oneTimeAddress(authorizeUrl: string, onSecondUse: () => void) {
  const path = `/start/${generateRandomState()}`
  let isUsed = false
  const start = (asked: string): string | undefined => {
    if (asked !== path) return undefined
    if (isUsed) onSecondUse()
    const target = isUsed ? 'used' : authorizeUrl
    isUsed = true
    return target
  }
  return { path, start }
}

/** Ends the request together with the login, because a timer or a socket would keep the process from its exit. */
function redeem(config: AuthConfig, grant: Grant, ended: AbortSignal): Promise<Tokens> {
  const fetch: AuthConfig['fetch'] = (input, init) =>
    config.fetch(input, { ...init, signal: AbortSignal.any([ended, init.signal ?? ended]) })
  return exchangeCode({ ...config, fetch }, grant, { signal: ended })
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
