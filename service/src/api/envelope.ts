/** The response of every endpoint (specification 2.1). */
export interface Envelope<Data> {
  success: boolean
  data: Data
  error_type: string | null
  error_message: string | null
}

export function succeeded<Data>(data: Data): Envelope<Data> {
  return { success: true, data, error_type: null, error_message: null }
}

/** The values of `error_type`, which the specification does not show. */
export type ErrorType =
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
