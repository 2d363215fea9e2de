import type { AgentAuthErrorCode } from './errors.ts'

/** What happened, for logs and metrics: never a URL with a query, a header, a body or a token. */
export type AuthEvent =
  | {
      readonly type: 'token_request'
      /** What was exchanged. */
      readonly grant: 'authorization_code' | 'refresh_token'
      /** The class of the answer. docs/sessions.md has a table. */
      readonly outcome: 'ok' | 'not_sent' | 'busy' | 'ambiguous' | 'terminal' | 'config' | 'foreign'
      /** The HTTP status, where one was received. */
      readonly status?: number
      /** How long the request took, in milliseconds. */
      readonly durationMs: number
      /** The origin of the token endpoint. */
      readonly origin: string
    }
  /** The service granted less than was asked for. */
  | { readonly type: 'scope_reduced' }
  /** `reason`: as in the state of the session. */
  | { readonly type: 'session_ended'; readonly reason: string }
  | { readonly type: 'login_required' }
  /** This page is the callback of a login that nothing has finished for five seconds: `ready()` was not called. */
  | { readonly type: 'callback_unfinished' }
  /** A stored record could not be read or written; the session goes on from memory. */
  | { readonly type: 'storage_degraded'; readonly reason: StorageProblem }
  /** `code`: of the error; `waitMs`: how long the session waits before the next refresh, in milliseconds. */
  | { readonly type: 'refresh_failed'; readonly code: AgentAuthErrorCode; readonly waitMs: number }

/** `unreadable`: removed. `newer` and `foreign`: left untouched. */
export type StorageProblem = 'read_failed' | 'write_failed' | 'remove_failed' | 'unreadable' | 'newer' | 'foreign'
