/**
 * The codes of all failures. Branch on them, because messages can change. docs/errors.md has a section for each, which says whether
 * it is `retryable`.
 */
export type AgentAuthErrorCode =
  | 'config_invalid'
  | 'insecure_context'
  | 'callback_malformed'
  | 'state_mismatch'
  | 'flow_not_found'
  | 'flow_expired'
  | 'already_handled'
  | 'login_denied'
  | 'login_failed'
  | 'popup_blocked'
  | 'popup_closed'
  | 'issuer_mismatch'
  | 'exchange_interrupted'
  | 'grant_rejected'
  | 'client_rejected'
  | 'login_required'
  | 'session_ended'
  | 'session_changed'
  | 'temporarily_unavailable'
  | 'timeout'
  | 'aborted'
  | 'response_invalid'
  | 'response_too_large'
  | 'storage_failed'
  | 'storage_degraded'
  | 'lock_timeout'
  | 'origin_forbidden'
  | 'unauthenticated'
  | 'client_not_approved'
  | 'permission_missing'
  | 'validation_failed'
  | 'request_failed'

/** Checked and capped members of a response or callback. They never hold a token, code, secret or body. */
export interface AgentAuthErrorDetails {
  /** The `error` code of RFC 6749 sections 4.1.2.1 and 5.2, as sent. */
  readonly error?: string
  /** Text of the service, at most 512 characters. Show it as text, never as HTML. */
  readonly errorDescription?: string
  /** An http or https URL about the error. At most 512 characters. */
  readonly errorUri?: string
  /** The return URL of the login. */
  readonly returnTo?: string
  /**
   * The class of a failed token request. docs/sessions.md has the responses of each.
   * - `not_sent`: the request was not sent, as far as is known.
   * - `busy`: the service asks to send the request later.
   * - `ambiguous`: no usable response arrived, so the service may have used the token or code.
   * - `terminal`: the service refuses the refresh token or code.
   * - `config`: the service refuses the client or the request, or redirects it.
   * - `foreign`: the response is not a JSON object, such as the sign-in page of a network.
   */
  readonly outcome?: 'not_sent' | 'busy' | 'ambiguous' | 'terminal' | 'config' | 'foreign'
  /** The delay that the service asked for in `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number
}

/** The members of an error besides its code and message. */
export interface AgentAuthErrorOptions {
  /** Sets whether the same call may succeed later. Default: `false`. */
  readonly retryable?: boolean | undefined
  /** The HTTP status of the token endpoint. */
  readonly status?: number | undefined
  /** The members of the response or the callback. */
  readonly details?: AgentAuthErrorDetails | undefined
}

const marker: unique symbol = Symbol.for('agent-auth.error') as never

/** The one error class of this library. Branch on `code`. */
export class AgentAuthError extends Error {
  /** The kind of failure. */
  declare readonly code: AgentAuthErrorCode
  /** Whether the same call may succeed later. */
  declare readonly retryable: boolean
  /** The HTTP status of the token endpoint, if there was a response. */
  declare readonly status?: number
  /** The members of the response or the callback. */
  declare readonly details?: AgentAuthErrorDetails

  constructor(
    code: AgentAuthErrorCode,
    message: string,
    { retryable = false, status, details }: AgentAuthErrorOptions = {},
  ) {
    super(message)
    Object.assign(this, { code, retryable }, status && { status }, details && { details })
    // Not enumerable, so that a printed error shows only what helps.
    Object.defineProperties(this, { name: { value: 'AgentAuthError' }, [marker]: {} })
  }
}

/** Returns whether a value is an error of this library, also if it comes from another copy of it or another frame. */
export function isAgentAuthError(value: unknown): value is AgentAuthError {
  return marker in Object(value)
}
