import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import type { BackendContext } from '../context.ts'
import { causeOf, type ErrorCause, tokenEndpointCause, unreachedCause } from '../error-cause.ts'
import type { ProxyRefusal } from '../events.ts'
import { errorResponse, errorResponseOf } from '../responses.ts'
import type { ProxyRoute } from './allowed-routes.ts'
import type { BodyProblem, Progress } from './bodies.ts'
import { redirectMessage, UnusableResponseError } from './headers.ts'

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
    const mebibytes = maxBodyBytes / 1_048_576
    const size = Number.isInteger(mebibytes) ? `${mebibytes} MiB` : `${maxBodyBytes} bytes`
    const message = `The request body is larger than ${size}. Send a smaller one.`
    return { response: errorResponse(413, { code: 'request_failed', message }), refusal: 'body' }
  }
  const message =
    'The body was read before the backend got the request. Put the backend before express.json() and other body parsers.'
  return { response: errorResponse(500, { code: 'config_invalid', message }), refusal: 'body_read' }
}

/**
 * The text of Node, Deno or Bun. An error may also quote the host of `baseUrl`. That is in lower case and has no blank, so it never
 * matches.
 */
const refusedRedirect = /unexpected redirect|Encountered redirect|UnexpectedRedirect/

/**
 * Returns the response for an error of the session, of the connection, or of a response that cannot be passed on. `received` is the response
 * of the API, if it came before the error.
 */
export function failedResponse({ config }: BackendContext, error: unknown, received: Response | undefined): Forwarded {
  if (isAgentAuthError(error)) {
    const response = errorResponseOf(error)
    // If no newer token is there after a 401, the browser gets that 401, so the request was not sent here.
    if (error.code === 'login_required') return { response, refusal: 'signed_out' }
    return { response, cause: tokenEndpointCause(error) }
  }
  // With `redirect: 'error'`, `fetch` rejects, and only its text says why.
  const isRedirect = refusedRedirect.test(`${error} ${(error as Error).cause}`)
  const unusable = error instanceof UnusableResponseError ? error.message : isRedirect && redirectMessage
  if (unusable) {
    const failure = { code: 'request_failed', message: unusable } as const
    return { response: errorResponse(502, failure), cause: { name: 'AgentAuthError', ...failure } }
  }
  const message = `${received ? 'The response of the API could not be passed on' : 'The API could not be reached'}. Try again.`
  return {
    response: errorResponse(502, { code: 'request_failed', message, retryable: true }),
    cause: received ? causeOf(error) : unreachedCause(error, config.baseUrl, 'baseUrl'),
  }
}

const slowParts = [
  ['session', 'The storage of the sessions did not respond'],
  ['token', 'The access token was not refreshed'],
  ['body', 'The request body did not arrive'],
] as const

/** Returns the response if the time of the route is over. Its message says what was slow. */
export function lateResponse({ config }: BackendContext, { timeoutMs }: ProxyRoute, { awaits }: Progress): Forwarded {
  const slow = slowParts.find(([part]) => awaits.has(part))
  const message = `${slow?.[1] ?? 'The API did not respond'} within ${timeoutMs / 1_000} s. Try again.`
  const error = new AgentAuthError('timeout', message, { retryable: true })
  return {
    response: errorResponse(504, error),
    cause: slow ? causeOf(error) : unreachedCause(error, config.baseUrl, 'baseUrl'),
  }
}

/** Returns a response that no browser gets. Its status distinguishes the event from failures of the API. */
export function leftResponse(): Forwarded {
  return { response: errorResponse(499, { code: 'aborted', message: 'The browser left before the API responded.' }) }
}
