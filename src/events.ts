import type { AgentAuthErrorCode } from './errors.ts'

/** What happened, for logs and metrics: never a URL with a query, a header, a body or a token. */
export type AuthEvent =
  | {
      readonly type: 'token_request'
      readonly grant: 'authorization_code' | 'refresh_token'
      readonly outcome: 'ok' | 'not_sent' | 'busy' | 'ambiguous' | 'terminal' | 'config' | 'foreign'
      readonly status?: number
      readonly durationMs: number
      readonly origin: string
    }
  /** The service granted less than was asked for. */
  | { readonly type: 'scope_reduced' }
  | { readonly type: 'session_ended'; readonly reason: string }
  | { readonly type: 'login_required' }
  /** This page is the callback of a login that nothing has finished for five seconds: `ready()` was not called. */
  | { readonly type: 'callback_unfinished' }
  /** A stored record could not be read or written; the session goes on from memory. */
  | { readonly type: 'storage_degraded'; readonly reason: StorageProblem }
  | { readonly type: 'refresh_failed'; readonly code: AgentAuthErrorCode; readonly waitMs: number }

/** `unreadable`: removed. `newer` and `foreign`: left untouched. */
export type StorageProblem = 'read_failed' | 'write_failed' | 'remove_failed' | 'unreadable' | 'newer' | 'foreign'
