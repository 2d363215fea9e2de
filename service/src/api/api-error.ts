import type { ErrorType } from './envelope.ts'

type ApiStatus = 401 | 403 | 404 | 405 | 409 | 413 | 415 | 421 | 429

interface ApiErrorOptions {
  status: ApiStatus
  type: ErrorType
  message: string
  headers?: Record<string, string>
}

/** A refusal that goes out in the envelope. */
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

/** One item of a 422 body (spec 7). */
export interface ValidationItem {
  loc: (string | number)[]
  msg: string
  type: string
  input?: unknown
  ctx?: Record<string, unknown>
}

/** A request that does not fit its description; becomes the 422 body of spec 7. */
export class ValidationError extends Error {
  readonly detail: ValidationItem[]

  constructor(detail: ValidationItem[]) {
    super('validation failed')
    this.name = 'ValidationError'
    this.detail = detail
  }
}

/** `error` is named only when credentials were sent at all (RFC 6750 §3.1). */
export function unauthenticated(credentials: 'absent' | 'invalid'): ApiError {
  const challenge = credentials === 'absent' ? 'Bearer' : 'Bearer error="invalid_token"'
  return new ApiError({
    status: 401,
    type: 'authentication_error',
    message: 'invalid authentication credentials',
    headers: { 'WWW-Authenticate': challenge },
  })
}

export function forbidden(message: 'OAuth client is not approved for this API' | 'missing permission'): ApiError {
  return new ApiError({ status: 403, type: 'permission_error', message })
}
