import { present } from './internal/present.ts'

/** Every way a call can fail. The code is the contract; messages may improve. docs/errors.md has a paragraph for each. */
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

/** What a server or callback said, in members that were checked and capped; never a token, code, secret or body. */
export interface AgentAuthErrorDetails {
  /** The `error` code of RFC 6749 sections 4.1.2.1 and 5.2, as sent. */
  readonly error?: string
  /** Hostile text: show it as text only. At most 512 characters. */
  readonly errorDescription?: string
  /** An http or https URL about the error. At most 512 characters. */
  readonly errorUri?: string
  /** Where the person wanted to go when the login started. */
  readonly returnTo?: string
  /** The class of the outcome at the token endpoint. */
  readonly outcome?: 'not_sent' | 'busy' | 'ambiguous' | 'terminal' | 'config' | 'foreign'
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs?: number
}

/** The members of an error besides its code and message. */
export interface AgentAuthErrorOptions {
  /** Default `false`. */
  readonly retryable?: boolean | undefined
  /** The HTTP status of the token endpoint. */
  readonly status?: number | undefined
  /** What the server or the callback said. */
  readonly details?: AgentAuthErrorDetails | undefined
}

const marker: unique symbol = Symbol.for('agent-auth.error') as never

/** The one error class of this library: `code` says what happened, `retryable` whether the same call may succeed later. */
export class AgentAuthError extends Error {
  /** What happened. Branch on this. */
  declare readonly code: AgentAuthErrorCode
  /** Whether the same call may succeed later. */
  declare readonly retryable: boolean
  /** The HTTP status of the token endpoint, where one was received. */
  declare readonly status?: number
  /** What the server or the callback said. */
  declare readonly details?: AgentAuthErrorDetails

  constructor(
    code: AgentAuthErrorCode,
    message: string,
    { retryable = false, status, details }: AgentAuthErrorOptions = {},
  ) {
    super(message)
    Object.assign(this, present({ code, retryable, status, details }))
    // Not enumerable: printing an error shows what a person needs, nothing of the mechanism.
    Object.defineProperties(this, { name: { value: 'AgentAuthError' }, [marker]: { value: true } })
  }
}

/** Tells whether a value is an error of this library, also when it comes from another copy of it or another realm. */
export function isAgentAuthError(value: unknown): value is AgentAuthError {
  return typeof value === 'object' && value !== null && marker in value
}
