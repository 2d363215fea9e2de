import { apiLimits } from '../limits.ts'

/** The response of every endpoint. */
export interface Envelope<Data> {
  success: boolean
  data: Data
  error_type: string | null
  error_message: string | null
}

/** The values of `error_type`, which the specification does not show. */
type ErrorType =
  | 'authentication_error'
  | 'permission_error'
  | 'billing_error'
  | 'not_found'
  | 'method_not_allowed'
  | 'limit_reached'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'misdirected_request'
  | 'too_many_requests'
  | 'server_error'
  | 'service_unavailable'

export function failed(errorType: ErrorType, message: string): Envelope<Record<string, never>> {
  return { success: false, data: {}, error_type: errorType, error_message: message }
}

type ApiStatus = 401 | 403 | 404 | 405 | 409 | 413 | 415 | 421 | 429

interface ApiErrorOptions {
  status: ApiStatus
  type: ErrorType
  message: string
  headers?: Record<string, string>
}

/** A refusal whose response is the envelope. */
export class ApiError extends Error {
  readonly status: ApiStatus
  readonly type: ErrorType
  readonly headers: Record<string, string>

  constructor({ status, type, message, headers = {} }: ApiErrorOptions) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.type = type
    this.headers = headers
  }
}

/** One item of a 422 body (specification 7). */
export interface ValidationItem {
  loc: (string | number)[]
  msg: string
  type: string
  input?: unknown
  ctx?: Record<string, unknown>
}

/** A request that is not valid. The response is the 422 body of specification 7. */
export class ValidationError extends Error {
  readonly detail: ValidationItem[]

  constructor(detail: ValidationItem[]) {
    super('validation failed')
    this.name = 'ValidationError'
    this.detail = detail
  }
}

export const tooLargeText = `the body is over ${apiLimits.bodyBytes / 1_024} KiB`

export function invalidJson(msg: string): ValidationError {
  return new ValidationError([{ loc: ['body'], msg, type: 'json_invalid' }])
}

/** Creates the 401. Its challenge names an `error` only if the request had credentials (RFC 6750 section 3.1). */
export function unauthenticated(credentials: 'absent' | 'invalid'): ApiError {
  const challenge = credentials === 'absent' ? 'Bearer' : 'Bearer error="invalid_token"'
  return new ApiError({
    status: 401,
    type: 'authentication_error',
    message: 'invalid authentication credentials',
    headers: { 'WWW-Authenticate': challenge },
  })
}

/** Creates the 403 of a tenant whose billing is inactive, for which the specification gives no text. */
export function unbilled(): ApiError {
  return new ApiError({ status: 403, type: 'billing_error', message: 'the tenant has no active billing' })
}

export function forbidden(message: 'OAuth client is not approved for this API' | 'missing permission'): ApiError {
  return new ApiError({ status: 403, type: 'permission_error', message })
}
