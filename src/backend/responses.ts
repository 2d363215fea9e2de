import type { AgentAuthError, AgentAuthErrorCode } from '../errors.ts'
import { hasNoTokenResponse } from './error-cause.ts'

export interface ResponseOptions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** `Set-Cookie` lines. */
  readonly cookies?: readonly string[]
}

/** Returns a response of the backend itself. */
export function createResponse(
  body: BodyInit | null,
  { status = 200, headers = {}, cookies = [] }: ResponseOptions,
): Response {
  const response = withPrivateHeaders(new Response(body, { status, headers }))
  for (const line of cookies) response.headers.append('set-cookie', line)
  return response
}

/** Sets the headers that keep a response of one user out of caches and away from other sites. Every response of the backend has them. */
export function withPrivateHeaders(response: Response): Response {
  const { headers } = response
  const vary = headers.get('vary')
  headers.set('cache-control', 'no-store')
  headers.set('vary', vary ? `${vary}, Cookie` : 'Cookie')
  headers.set('x-content-type-options', 'nosniff')
  headers.set('cross-origin-resource-policy', 'same-origin')
  headers.set('referrer-policy', 'no-referrer')
  return response
}

export function jsonResponse(value: unknown, options: ResponseOptions = {}): Response {
  const headers = { 'content-type': 'application/json', ...options.headers }
  return createResponse(JSON.stringify(value), { ...options, headers })
}

/** The error of a response. */
export interface ErrorBody {
  readonly code: AgentAuthErrorCode
  readonly message: string
  readonly retryable?: boolean
  /** Sent as `Retry-After` if the error is retryable. Default: a second. */
  readonly retryAfterMs?: number | undefined
}

/** Returns `{ code, message, retryable }`, with `Retry-After` if the same request may succeed later. */
export function errorResponse(status: number, error: ErrorBody, cookies: readonly string[] = []): Response {
  const { code, message, retryable = false, retryAfterMs = 1_000 } = error
  const headers = retryable ? { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) } : {}
  return jsonResponse({ code, message, retryable }, { status, headers, cookies })
}

/** Returns the response for an error of the session, the storage or the token endpoint. */
export function errorResponseOf(error: AgentAuthError, cookies: readonly string[] = []): Response {
  const { code, retryable, details } = error
  const message = publicMessage(error)
  return errorResponse(statusOf(code), { code, message, retryable, retryAfterMs: details?.retryAfterMs }, cookies)
}

/** Returns the message for a browser, which must not learn the origin of a token endpoint inside of the backend's network. */
export function publicMessage(error: AgentAuthError): string {
  if (!hasNoTokenResponse(error)) return error.message
  return `The authorization server did not respond. ${error.retryable ? 'Try again.' : 'Start the login again.'}`
}

/**
 * The statuses that are not 502 (the configuration is wrong, or a response cannot be used). 400: start the login again. 401: sign in
 * again. 403: the user denied the login. 503: the same request may succeed later, or for `exchange_interrupted` a new login.
 */
const statuses: Readonly<Partial<Record<AgentAuthErrorCode, number>>> = {
  callback_malformed: 400,
  state_mismatch: 400,
  flow_not_found: 400,
  flow_expired: 400,
  already_handled: 400,
  login_failed: 400,
  issuer_mismatch: 400,
  grant_rejected: 400,
  login_required: 401,
  session_ended: 401,
  login_denied: 403,
  exchange_interrupted: 503,
  session_changed: 503,
  temporarily_unavailable: 503,
  timeout: 503,
  aborted: 503,
  storage_failed: 503,
  lock_timeout: 503,
}

/** Returns the status of a response with this error, as JSON or as the page of a login that failed. */
export function statusOf(code: AgentAuthErrorCode): number {
  return (Object.hasOwn(statuses, code) && statuses[code]) || 502
}
