import type { AgentAuthErrorCode } from '../errors.ts'
import type { AuthEvent } from '../events.ts'

/** What a backend adds to the events of its sessions: never a cookie, a path with its parameters, a header or a token. */
export type BackendEvent =
  | AuthEvent
  | { readonly type: 'login_started' }
  | { readonly type: 'login_finished'; readonly durationMs: number }
  | LoginFailedEvent
  /** `failed`: the refresh token was not revoked, or none could be read; `off`: there is no `revocationEndpoint`. */
  | { readonly type: 'logged_out'; readonly revocation: Revocation }
  /** A request went through to the API; `route` is the template, `status` what the browser was answered. */
  | { readonly type: 'proxied'; readonly route: string; readonly status: number; readonly durationMs: number }
  /** A request was not forwarded. */
  | { readonly type: 'proxy_refused'; readonly route: string; readonly status: number; readonly reason: ProxyRefusal }

export interface LoginFailedEvent {
  readonly type: 'login_failed'
  readonly code: AgentAuthErrorCode
  /** The `error` code of the authorization server. RFC 6749 sections 4.1.2.1 and 5.2. */
  readonly error?: string
}

export type Revocation = 'done' | 'failed' | 'off'

/** `body`: too large. `body_read`: other code, such as `express.json()`, read it before the backend. */
export type ProxyRefusal = 'cross_site' | 'signed_out' | 'path' | 'headers' | 'body' | 'body_read' | 'busy'
