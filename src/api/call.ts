import { isAgentAuthError } from '../errors.ts'
import { backoffMs, sleep, withDeadline } from '../internal/timeouts.ts'
import { unconnectedCode } from '../internal/unconnected.ts'
import { attempt, invalid } from '../internal/values.ts'
import { AgentApiError, type Effect, failureOf } from './error.ts'
import { type ApiConfig, type CallConfig, type CallOptions, configOfCall } from './options.ts'
import { type Expected, readResponse } from './response.ts'

/** One call, as an endpoint describes it. */
export interface ApiCall extends Expected {
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
 * Sends a read, and never a write, again while its error is `retryable`: `maxRetries` times at most, after `Retry-After` and a delay that
 * doubles from half a second, as long as that is within `timeoutMs`.
 */
async function withRetries(config: ApiConfig, call: ApiCall, send: Send, signal: AbortSignal): Promise<object> {
  const { clock, maxRetries, timeoutMs } = config
  const startMs = clock.monotonicMs()
  for (let failures = 1; ; failures++) {
    try {
      return await once(config, call, send, signal)
    } catch (error) {
      if (!(error instanceof AgentApiError && error.retryable) || call.effect === 'write') throw error
      const waitMs = (error.details?.retryAfterMs ?? 0) + backoffMs(failures)
      // A wait that outlasts the call would only turn this error into a time-out.
      if (failures > maxRetries || clock.monotonicMs() - startMs + waitMs >= timeoutMs) throw error
      await sleep(waitMs, signal)
    }
  }
}

async function once(config: ApiConfig, call: ApiCall, send: Send, signal: AbortSignal): Promise<object> {
  const { baseUrl, clock, maxBytes, onResponse } = config
  const response = await send(signal).catch((reason) => {
    throw isAgentAuthError(reason) ? reason : noResponse(baseUrl, call.effect, reason)
  })
  onResponse?.(response)
  return readResponse(response, call, { maxBytes, nowMs: clock.wallMs() })
}

/** The reason goes no further, because it may quote the request. */
function noResponse(baseUrl: string, effect: Effect, reason: unknown): AgentApiError {
  // Without a connection, no byte has left.
  const code = unconnectedCode(reason)
  // A page is not told why a request failed.
  const toCheck = globalThis.location ? 'baseUrl, CORS, and connect-src of the CSP' : 'and baseUrl'
  const what = `${baseUrl} gave no response${code ? ` (${code})` : ''}. Check that it runs, ${toCheck}.`
  return failureOf(effect, { code: 'request_failed', what, isPassing: true, isUnclear: !code })
}
