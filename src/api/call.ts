import { isAgentAuthError } from '../errors.ts'
import { backoffMs, sleep, withDeadline } from '../internal/timeouts.ts'
import { unconnectedCode } from '../internal/unconnected.ts'
import { attempt, invalid } from '../internal/values.ts'
import { retryAfterMs } from '../token-endpoint/response.ts'
import { AgentApiError, type Effect, failureOf } from './error.ts'
import { type ApiConfig, type CallConfig, type CallOptions, configOfCall } from './options.ts'
import { type Expected, isPassing, readResponse } from './response.ts'

/** One call, as an endpoint describes it. */
export interface ApiCall extends Pick<Expected, 'effect' | 'matches'> {
  readonly method: string
  /** Starts with a slash. */
  readonly path: string
  /** What becomes JSON. Without it the request has no body. */
  readonly body?: unknown
}

type Send = (signal: AbortSignal) => Promise<Response>

/** Carries out one call with its retries and resolves to the `data` of the envelope. */
export async function callApi<T extends object>(base: ApiConfig, call: ApiCall, options: CallOptions = {}): Promise<T> {
  const config = configOfCall(base, options)
  const send = sendOf(config, call)
  try {
    const work = (signal: AbortSignal): Promise<object> => withRetries(config, call, send, signal)
    return (await withDeadline(config.timeoutMs, work, options.signal ?? undefined)) as T
  } catch (error) {
    if (!isAgentAuthError(error) || error.code !== 'timeout') throw error
    throw failureOf(call.effect, { code: 'timeout', what: error.message, isPassing: true, isUnclear: true })
  }
}

/** Made before anything waits, because later changes of the caller's objects belong to its next call. */
function sendOf({ baseUrl, fetch, extraMembers }: CallConfig, { method, path, body }: ApiCall): Send {
  const { href } = attempt(() => new URL(baseUrl + path)) ?? {}
  // A path that climbs, or text that extends the host, would leave the base URL.
  if (!href?.startsWith(`${baseUrl}/`)) invalid('path must start with / and stay under baseUrl')
  const whole = extraMembers ? { ...Object(body), ...extraMembers } : body
  const text = whole === undefined ? null : (attempt(() => JSON.stringify(whole)) ?? invalid('the body must be JSON'))
  if (text !== null && /^get$/i.test(method)) invalid('GET takes no body')
  const headers: HeadersInit = text === null ? {} : { 'content-type': 'application/json' }
  // Workers do not know `redirect: 'error'`.
  return async (signal) => fetch(href, { method, headers, body: text, redirect: 'manual', signal })
}

/**
 * Repeats a read, and never a write, after a failure that may pass (`isPassing` in response.ts) or a connection that was not made.
 * It does so `maxRetries` times at most, and waits for `Retry-After`, and for a delay that doubles from half a second
 * (`backoffMs`), as long as that is within `timeoutMs`.
 */
async function withRetries(config: ApiConfig, call: ApiCall, send: Send, signal: AbortSignal): Promise<object> {
  const { clock, maxRetries, timeoutMs } = config
  const startMs = clock.monotonicMs()
  for (let failures = 1; ; failures++) {
    const result = await once(config, call, send, signal)
    if (!(result instanceof AgentApiError)) return result
    const waitMs = (result.details?.retryAfterMs ?? 0) + backoffMs(failures)
    // A wait that outlasts the call would only turn this error into a time-out.
    const isInTime = clock.monotonicMs() - startMs + waitMs < timeoutMs
    if (call.effect === 'write' || failures > maxRetries || !isInTime) throw result
    await sleep(waitMs, signal)
  }
}

/** Resolves to the data, or to an error after which a read is sent again. Rejects with every other error. */
async function once(
  config: ApiConfig,
  call: ApiCall,
  send: Send,
  signal: AbortSignal,
): Promise<object | AgentApiError> {
  const { clock, maxBytes, onResponse } = config
  let response: Response
  try {
    response = await send(signal)
  } catch (reason) {
    if (isAgentAuthError(reason)) throw reason
    return unsent(config, call.effect, reason)
  }
  onResponse?.(response)
  const waitMs = retryAfterMs(response.headers.get('retry-after'), clock.wallMs())
  const result = await readResponse(response, { ...call, maxBytes, retryAfterMs: waitMs })
  if (result instanceof AgentApiError && !isPassing(response.status)) throw result
  return result
}

/** Returns the error if no byte has left, and throws it otherwise. The reason goes no further: it may quote the request. */
function unsent({ baseUrl }: CallConfig, effect: Effect, reason: unknown): AgentApiError {
  const code = unconnectedCode(reason)
  const isUnclear = !code
  // A page is not told why a request failed.
  const toCheck = globalThis.location ? 'baseUrl, CORS, and connect-src of the CSP' : 'and baseUrl'
  const what = `${baseUrl} gave no response${isUnclear ? '' : ` (${code})`}. Check that it runs, ${toCheck}.`
  const error = failureOf(effect, { code: 'request_failed', what, isPassing: true, isUnclear })
  if (isUnclear) throw error
  return error
}
