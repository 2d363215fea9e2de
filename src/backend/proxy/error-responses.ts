import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import type { BackendContext } from '../context.ts'
import { causeOf, type ErrorCause, tokenEndpointCause, unreachedCause } from '../error-cause.ts'
import type { ProxyRefusal } from '../events.ts'
import { errorResponse, errorResponseOf } from '../responses.ts'
import type { ProxyRoute } from './allowed-routes.ts'
import { isDecoded } from './headers.ts'
import type { AwaitedPart, BodyProblem } from './request-body.ts'

/** What the browser gets, and what the event says about it. */
export interface Forwarded {
  readonly response: Response
  /** Set if the request was refused. The beginning of a streamed body may have been sent. */
  readonly refusal?: ProxyRefusal
  /** As in the event. */
  readonly cause?: ErrorCause | undefined
}

/** Returns the response to a request whose body cannot be sent to the API as a whole. */
export function unusableBodyResponse(problem: BodyProblem, { maxBodyBytes }: ProxyRoute): Forwarded {
  if (problem === 'too_large') {
    const message = `The request body is larger than ${sizeText(maxBodyBytes)}. Send a smaller one.`
    return { response: errorResponse(413, { code: 'request_failed', message }), refusal: 'body' }
  }
  const message =
    'The body was read before the backend got the request. Put the backend before express.json() and other body parsers.'
  return { response: errorResponse(500, { code: 'config_invalid', message }), refusal: 'body_read' }
}

/**
 * Returns the response for an error of the session, of the connection, or of a response that cannot be passed on. `received` is the response
 * of the API, if it came before the error (`forward` in forward.ts).
 */
export function failedResponse({ config }: BackendContext, error: unknown, received: Response | undefined): Forwarded {
  if (error instanceof UnusableResponseError) return refusedResponse(error.message)
  if (isAgentAuthError(error)) {
    const response = errorResponseOf(error)
    // `login_required` comes here only if the request was not sent: if no newer token is there after a 401, the bearer fetch returns that
    // 401 (`newerToken` in bearer.ts).
    if (error.code === 'login_required') return { response, refusal: 'signed_out' }
    return { response, cause: tokenEndpointCause(error) }
  }
  // With `redirect: 'error'`, `fetch` rejects, and only its text says why.
  if (refusedRedirect.test(`${error} ${(error as Error).cause}`)) return refusedResponse(redirectMessage)
  const message = `${received ? 'The response of the API could not be passed on' : 'The API could not be reached'}. Try again.`
  return {
    response: errorResponse(502, { code: 'request_failed', message, retryable: true }),
    cause: received ? causeOf(error) : unreachedCause(error, config.baseUrl, 'baseUrl'),
  }
}

function sizeText(bytes: number): string {
  return bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes} bytes`
}

/**
 * Returns the response if the time of the route is over: 503 if the token is late, 408 if the body from the browser is late, 504 if the
 * API is late. Only with 504 does the cause in the event name the API. With 408 there is no cause.
 */
export function lateResponse(
  { config }: BackendContext,
  { timeoutMs }: ProxyRoute,
  awaited: ReadonlySet<AwaitedPart>,
): Forwarded {
  const late = (status: number, happened: string): [error: AgentAuthError, response: Response] => {
    const message = `${happened} within ${timeoutMs / 1_000} s. Try again.`
    const error = new AgentAuthError('timeout', message, { retryable: true })
    return [error, errorResponse(status, error)]
  }
  if (awaited.has('token')) {
    const [error, response] = late(503, 'The access token was not refreshed')
    return { response, cause: causeOf(error) }
  }
  if (awaited.has('body')) {
    const [, response] = late(408, 'The request body did not arrive')
    return { response }
  }
  const [error, response] = late(504, 'The API did not respond')
  return { response, cause: unreachedCause(error, config.baseUrl, 'baseUrl') }
}

/** Returns a response that no browser gets. Its status distinguishes the event from failures of the API. */
export function leftResponse(): Forwarded {
  return { response: errorResponse(499, { code: 'aborted', message: 'The browser left before the API responded.' }) }
}

/**
 * The text of Node, Deno or Bun. An error may also quote the host of `baseUrl`. That is in lower case and has no blank, so it never
 * matches.
 */
const refusedRedirect = /unexpected redirect|Encountered redirect|UnexpectedRedirect/

const redirectMessage =
  'The API responded with a redirect, which is not followed. Check baseUrl and the paths in proxy.'

/** The error of a response that cannot be passed on. Its message is that of the 502. */
class UnusableResponseError extends Error {}

/** Throws if the response is a redirect, or cannot be decoded. `failedResponse` makes the 502 of it. */
export function requirePassable({ status, type, redirected, body, headers }: Response): void {
  const isRedirect = status >= 300 && status < 400 && status !== 304
  if (type === 'opaqueredirect' || redirected || isRedirect) throw new UnusableResponseError(redirectMessage)
  if (body && !isDecoded(headers)) throw new UnusableResponseError(codingMessage)
}

const codingMessage = 'The API sent a content coding that cannot be decoded. It must send none, gzip, deflate or br.'

function refusedResponse(message: string): Forwarded {
  const error = { code: 'request_failed', message } as const
  return { response: errorResponse(502, error), cause: { name: 'AgentAuthError', ...error } }
}
