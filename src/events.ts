import type { AgentAuthErrorCode } from './errors.ts'

/**
 * An event for logs and metrics. It never holds a URL with a query, a header, a body or a token. An error that `onEvent` throws is
 * ignored (`emit` in config.ts).
 */
export type AuthEvent =
  | {
      readonly type: 'token_request'
      /** The grant of the request. */
      readonly grant: 'authorization_code' | 'refresh_token'
      /** The class of the result. docs/sessions.md has a table. */
      readonly outcome: 'ok' | 'not_sent' | 'busy' | 'ambiguous' | 'terminal' | 'config' | 'foreign'
      /** The HTTP status, if there was a response. */
      readonly status?: number
      /** A mistake in the app's own `fetch`: `no Response`. Then `outcome` is `config`. */
      readonly mistake?: string
      /** How long the request took, in milliseconds. */
      readonly durationMs: number
      /** The origin of the token endpoint. */
      readonly origin: string
    }
  /** The granted scope lacks a name of the configured one. */
  | { readonly type: 'scope_reduced' }
  /** `reason` is that of the session's state. */
  | { readonly type: 'session_ended'; readonly reason: string }
  | { readonly type: 'login_required' }
  /** Tokens may go to these hosts without TLS, because `allowHttpHosts` names them. Once for each config; a space is between two. */
  | { readonly type: 'http_allowed'; readonly hosts: string }
  /**
   * A request to this origin was sent without the token, because the origin or path is not that of `baseUrl`. Once for each
   * origin.
   */
  | { readonly type: 'sent_without_token'; readonly origin: string }
  /** A stored record could not be read or written. The session continues from memory. `cause` says why an operation failed. */
  | { readonly type: 'storage_degraded'; readonly reason: StorageProblem; readonly cause?: StorageCause }
  /** `code` is that of the error. `waitMs` is the wait before the next refresh, in milliseconds. */
  | { readonly type: 'refresh_failed'; readonly code: AgentAuthErrorCode; readonly waitMs: number }

/** The error of this library for an operation of the storage. It quotes no record and no error of the storage's own. */
export interface StorageCause {
  /** `storage_failed`, `lock_timeout` or `config_invalid`. */
  readonly code: AgentAuthErrorCode
  /** What happened, and what to do. */
  readonly message: string
}

/** The kind of a problem with a record. `newer` and `foreign` ones stay as they are, and the next tokens replace an `unreadable` one. */
export type StorageProblem = 'read_failed' | 'write_failed' | 'remove_failed' | 'unreadable' | 'newer' | 'foreign'
