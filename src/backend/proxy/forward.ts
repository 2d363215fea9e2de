import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import type { BackendContext } from '../context.ts'
import { causeOf, type ErrorCause, tokenEndpointCause, unreachedCause } from '../error-cause.ts'
import type { ProxyRefusal } from '../events.ts'
import { errorResponse, errorResponseOf, withPrivateHeaders } from '../responses.ts'
import { apiFetch } from '../sessions/api-fetch.ts'
import type { LiveSession } from '../sessions/live-sessions.ts'
import { usedSource } from '../sessions/session-uses.ts'
import { type HeaderList, isDecoded, responseHeaders } from './headers.ts'
import { type BodyProblem, drainBody, requestBody, UnusableBodyError } from './request-body.ts'
import { type OnResponseEnd, relayBody } from './response-body.ts'
import type { ProxyRoute } from './routes.ts'
import { sessionCheck } from './session-check.ts'

/** A request that passed the checks of the proxy. */
export interface ProxyCall {
  readonly route: ProxyRoute
  readonly request: Request
  /** The headers that the API may see. */
  readonly headers: HeaderList
  readonly live: LiveSession
  /** Path and query under `baseUrl`. */
  readonly target: string
  /** Counts the request as ended, and releases its session. Only the first call counts. */
  readonly release: () => void
}

/** What the browser gets, and what the event says about it. */
export interface Forwarded {
  readonly response: Response
  /** Set if the request was refused. The beginning of a streamed body may have been sent. */
  readonly refusal?: ProxyRefusal
  /** As in the event. */
  readonly cause?: ErrorCause | undefined
}

/**
 * Sends a request to the API with the bearer header, and passes the response on. Never rejects: if the API gives no response
 * that can be passed on, the browser gets an error response. The bearer fetch retries a 401 once if the body can be sent twice
 * (bearer.ts). If it stays a 401, the browser gets that.
 */
export async function forward(context: BackendContext, call: ProxyCall): Promise<Forwarded> {
  const { request, route } = call
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  request.signal.addEventListener('abort', abort)
  if (request.signal.aborted) abort()
  // It ends when the response begins. From then on `relayBody` limits each silence.
  const timer = setTimeout(() => stop.abort(lateError(route)), route.timeoutMs)
  // Filled in by a streamed body, because `fetch` rejects with an error of its own when the stream fails.
  const streamed: { problem?: BodyProblem } = {}
  let response: Response | undefined
  const end = (how: 'complete' | 'broken'): void => {
    request.signal.removeEventListener('abort', abort)
    if (how === 'broken') abort()
    call.release()
  }
  try {
    const body = await requestBody(request, {
      signal: stop.signal,
      maxBytes: route.maxBodyBytes,
      onProblem: (problem) => {
        streamed.problem = problem
      },
    })
    response = await send(context, call, body, stop.signal)
    // An injected `fetch` that calls an API in this process may respond although the body broke off. That response would hide why.
    if (streamed.problem) throw new UnusableBodyError(streamed.problem)
    return passOn(context, { response, call }, (how, interruption) => {
      // A browser that left has aborted the request to the API, which is no failure of the API.
      if (interruption !== undefined && !request.signal.aborted)
        context.emit({ type: 'proxy_interrupted', route: route.template, cause: causeOf(interruption) })
      end(how)
    })
  } catch (error) {
    const hasLeft = request.signal.aborted
    const { reason } = stop.signal
    end('broken')
    // Only the timer gives a reason of this library.
    if (isAgentAuthError(reason)) return lateResponse(context, reason)
    if (hasLeft) return leftResponse()
    await drainBody(request)
    const bodyProblem = error instanceof UnusableBodyError ? error.problem : streamed.problem
    return bodyProblem ? unusableBodyResponse(bodyProblem, route) : failedResponse(context, error, response)
  } finally {
    clearTimeout(timer)
  }
}

function send(
  context: BackendContext,
  { request, headers, live, target }: ProxyCall,
  body: Awaited<ReturnType<typeof requestBody>>,
  signal: AbortSignal,
): Promise<Response> {
  live.fetch ??= apiFetch(context, usedSource(live.session, context.uses, live.key))
  // Node copies the body of a request unless `redirect` is `error` and `window` is null. Workers do not support `error`.
  const redirect = globalThis.navigator?.userAgent === 'Cloudflare-Workers' ? 'manual' : 'error'
  const init = { method: request.method, headers, signal, redirect, window: null } as const
  // The types of fetch do not have this member yet, which a streamed body needs.
  const duplex = { duplex: 'half' } as const
  return live.fetch(context.config.baseUrl + target, body ? { ...init, ...duplex, body } : init)
}

/** Returns the response of the API as the browser may see it, or a 502. */
function passOn(
  context: BackendContext,
  { response, call }: { readonly response: Response; readonly call: ProxyCall },
  onEnd: OnResponseEnd,
): Forwarded {
  const { status, type, redirected, body } = response
  const isRedirect = status >= 300 && status < 400 && status !== 304
  if (type === 'opaqueredirect' || redirected || isRedirect) {
    onEnd('broken')
    return refusedResponse(redirectMessage)
  }
  if (body && !isDecoded(response.headers)) {
    onEnd('broken')
    return refusedResponse(
      'The API sent a content coding that cannot be decoded. It must send none, gzip, deflate or br.',
    )
  }
  const headers = responseHeaders(response.headers, context.passedHeaders)
  if (!body) onEnd('complete')
  const hasSessionEnded = sessionCheck(call.live, context)
  const options = { maxApiSilenceMs: call.route.timeoutMs, hasSessionEnded, onEnd }
  return { response: withPrivateHeaders(new Response(body && relayBody(body, options), { status, headers })) }
}

/** Returns the response to a request whose body cannot be sent to the API as a whole. */
function unusableBodyResponse(problem: BodyProblem, { maxBodyBytes }: ProxyRoute): Forwarded {
  if (problem === 'too_large') {
    const message = `The request body is larger than ${sizeText(maxBodyBytes)}. Send a smaller one.`
    return { response: errorResponse(413, { code: 'request_failed', message }), refusal: 'body' }
  }
  const message =
    'The body was read before the backend got the request. Put the backend before express.json() and other body parsers.'
  return { response: errorResponse(500, { code: 'config_invalid', message }), refusal: 'body_read' }
}

/** Returns the response for an error of the session, of the connection, or of a `received` response that cannot be passed on. */
function failedResponse({ config }: BackendContext, error: unknown, received: Response | undefined): Forwarded {
  if (isAgentAuthError(error)) {
    const response = errorResponseOf(error)
    // This code comes only before the request is sent, because after a 401 the API's own response is passed on.
    if (error.code === 'login_required') return { response, refusal: 'signed_out' }
    return { response, cause: tokenEndpointCause(error) }
  }
  // With `redirect: 'error'`, `fetch` rejects, and only its text says why.
  if (refusedRedirect.test(`${error} ${(error as Error).cause}`)) return refusedResponse(redirectMessage)
  const message = 'The API could not be reached. Try again.'
  return {
    response: errorResponse(502, { code: 'request_failed', message, retryable: true }),
    cause: received ? causeOf(error) : unreachedCause(error, config.baseUrl, 'baseUrl'),
  }
}

function sizeText(bytes: number): string {
  return bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes} bytes`
}

function lateError({ timeoutMs }: ProxyRoute): AgentAuthError {
  const message = `The API did not respond within ${timeoutMs / 1_000} s. Try again.`
  return new AgentAuthError('timeout', message, { retryable: true })
}

function lateResponse({ config }: BackendContext, error: AgentAuthError): Forwarded {
  return { response: errorResponse(504, error), cause: unreachedCause(error, config.baseUrl, 'baseUrl') }
}

/** Returns a response that no browser gets. Its status distinguishes the event from failures of the API. */
function leftResponse(): Forwarded {
  return { response: errorResponse(499, { code: 'aborted', message: 'The browser left before the API responded.' }) }
}

/**
 * The text of Node, Deno or Bun. An error may also quote the host of `baseUrl`. That is in lower case and has no blank, so it never
 * matches.
 */
const refusedRedirect = /unexpected redirect|Encountered redirect|UnexpectedRedirect/

const redirectMessage =
  'The API responded with a redirect, which is not followed. Check baseUrl and the paths in proxy.'

function refusedResponse(message: string): Forwarded {
  const error = { code: 'request_failed', message } as const
  return { response: errorResponse(502, error), cause: { name: 'AgentAuthError', ...error } }
}
