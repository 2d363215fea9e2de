import type { AgentAuthErrorCode } from '../errors.ts'
import type { AuthEvent } from '../events.ts'
import type { ErrorCause } from './error-cause.ts'

/** What a backend adds to the events of its sessions: never a cookie, a path with its parameters, a header or a token. */
export type BackendEvent =
  | AuthEvent
  | { readonly type: 'login_started' }
  /** `durationMs`: from `login_started`, in milliseconds. */
  | { readonly type: 'login_finished'; readonly durationMs: number }
  | LoginFailedEvent
  | LoggedOutEvent
  | ProxiedEvent
  /** A request was not forwarded. */
  | { readonly type: 'proxy_refused'; readonly route: string; readonly status: number; readonly reason: ProxyRefusal }
  /** The API's response ended after its headers and before its end. */
  | { readonly type: 'proxy_interrupted'; readonly route: string; readonly cause: ErrorCause }
  /** An operation of the storage failed. The session's own event is `storage_degraded`. */
  | { readonly type: 'storage_error'; readonly operation: StorageOperation; readonly cause: ErrorCause }
  /** A route failed with an error that is not of this library, and responded with 500. */
  | { readonly type: 'unexpected_error'; readonly route: string; readonly cause: ErrorCause }

/** An operation of the storage. */
export type StorageOperation = 'getItem' | 'setItem' | 'removeItem' | 'withLock'

/** A logout that ended the session here. */
export interface LoggedOutEvent {
  readonly type: 'logged_out'
  /** `failed`: the refresh token was not revoked, or none could be read; `off`: there is no `revocationEndpoint`. */
  readonly revocation: Revocation
  /** Why the revocation request failed, if it got no response. */
  readonly cause?: ErrorCause
}

/** A request went through to the API. */
export interface ProxiedEvent {
  readonly type: 'proxied'
  /** As configured in `proxy`. */
  readonly route: string
  /** The status of the response to the browser. 499: the browser left before there was one. */
  readonly status: number
  /** How long the request took, in milliseconds. */
  readonly durationMs: number
  /** Why the response is not the API's. */
  readonly cause?: ErrorCause
}

/** A login that failed. */
export interface LoginFailedEvent {
  readonly type: 'login_failed'
  /** The code of the error. */
  readonly code: AgentAuthErrorCode
  /** The `error` code of the authorization server. RFC 6749 sections 4.1.2.1 and 5.2. */
  readonly error?: string
  /** Set if the token endpoint was not reached. Its message names the origin. */
  readonly cause?: ErrorCause
}

/** Whether the refresh token was revoked at logout. */
export type Revocation = 'done' | 'failed' | 'off'

/** `body`: too large. `body_read`: other code, such as `express.json()`, read it before the backend. */
export type ProxyRefusal = 'cross_site' | 'signed_out' | 'path' | 'headers' | 'body' | 'body_read' | 'busy'
