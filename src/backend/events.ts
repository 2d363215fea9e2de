import type { AgentAuthErrorCode } from '../errors.ts'
import type { AuthEvent } from '../events.ts'
import type { ErrorCause } from './error-cause.ts'

/**
 * An event of a backend or of its sessions. None holds a cookie, a path with the values of its parameters, a header or a token. An
 * error that `onEvent` throws is ignored.
 */
export type BackendEvent =
  | AuthEvent
  | { readonly type: 'login_started' }
  /** `durationMs`: how long the request of the callback took, in milliseconds. */
  | { readonly type: 'login_finished'; readonly durationMs: number }
  | LoginFailedEvent
  | LoggedOutEvent
  | SessionsEndedEvent
  | EndedSessionRemovedEvent
  | ProxiedEvent
  /** A request was refused. The API got nothing of it but, at most, the beginning of a streamed body. */
  | { readonly type: 'proxy_refused'; readonly route: string; readonly status: number; readonly reason: ProxyRefusal }
  /**
   * The API ended a response before its end, or sent nothing for the `timeoutMs` of the route, or the session ended. Once for each
   * response.
   */
  | { readonly type: 'proxy_interrupted'; readonly route: string; readonly cause: ErrorCause }
  /** An operation of the storage failed. A session that continues from memory because of it emits `storage_degraded` as well, once. */
  | { readonly type: 'storage_error'; readonly operation: StorageOperation; readonly cause: ErrorCause }
  | SetupProblemEvent
  /** A route failed with an error that is not of this library, and responded with 500. */
  | { readonly type: 'unexpected_error'; readonly route: string; readonly cause: ErrorCause }

/** An operation of the storage. */
export type StorageOperation = 'getItem' | 'setItem' | 'removeItem' | 'withLock'

/**
 * A logout with the cookie of a session, also if its record may remain because the storage failed. If the session is known to be
 * gone, the logout emits no event.
 */
export interface LoggedOutEvent {
  readonly type: 'logged_out'
  /** Whether the refresh token was revoked. */
  readonly revocation: Revocation
  /** Why the revocation request failed, if it got no response. */
  readonly cause?: ErrorCause
}

/** Your code ended sessions with `endSession` (`session`), `endSessionsOf` (`subject`) or `endAll` (`all`). */
export interface SessionsEndedEvent {
  readonly type: 'sessions_ended'
  /** Which sessions: one, those of a subject, or all. */
  readonly scope: 'session' | 'subject' | 'all'
  /**
   * Whether the refresh token was revoked. Set only if `scope` is `session`. If it is `subject` or `all`, a process revokes the refresh
   * token of a session when it next reads its record (`ended_session_removed`).
   */
  readonly revocation?: Revocation
  /** Why the revocation request failed, if it got no response. */
  readonly cause?: ErrorCause
}

/** A process found the record of a session that `endSessionsOf` or `endAll` had ended, and removed it. */
export interface EndedSessionRemovedEvent {
  readonly type: 'ended_session_removed'
  /** Whether the refresh token was revoked. */
  readonly revocation: Revocation
  /** Why the revocation request failed, if it got no response. */
  readonly cause?: ErrorCause
}

/**
 * A request passed the checks of the proxy. It was sent to the API, unless it failed before that, for example because no
 * access token could be had.
 */
export interface ProxiedEvent {
  readonly type: 'proxied'
  /** The route as configured in `proxy`. */
  readonly route: string
  /** The status of the response to the browser. 499: the browser left before there was one. */
  readonly status: number
  /** How long it took until the response began, in milliseconds. */
  readonly durationMs: number
  /** Why the response is not the API's, if the API, the token endpoint or the time of the route is the reason. */
  readonly cause?: ErrorCause
}

/** An app on loopback is set up in a wrong way. Once for each problem. */
export interface SetupProblemEvent {
  readonly type: 'setup_problem'
  /** `host`: a login began at another host, port or scheme. `path`: a request came without the beginning of its path. */
  readonly problem: 'host' | 'path'
  /** Its message names the difference. */
  readonly cause: ErrorCause
}

/** A login that failed. */
export interface LoginFailedEvent {
  readonly type: 'login_failed'
  /** The code of the error. */
  readonly code: AgentAuthErrorCode
  /** The `error` code of the authorization server. RFC 6749 sections 4.1.2.1 and 5.2. */
  readonly error?: string
  /** How long the request of the callback took, in milliseconds. */
  readonly durationMs: number
  /** Set if the token endpoint did not respond. Its message names the origin. */
  readonly cause?: ErrorCause
}

/**
 * Whether the refresh token of an ended session was revoked. `failed`: the revocation failed, the session had no refresh token that
 * could be read, or a refresh in progress may have replaced the token. `off`: there is no `revocationEndpoint`.
 */
export type Revocation = 'done' | 'failed' | 'off'

/**
 * `query`: a parameter that the route does not list. `body`: too large. `body_read`: other code, such as `express.json()`, read it
 * before the backend. `busy`: `maxParallelCalls` requests of the session are in progress.
 */
export type ProxyRefusal = 'cross_site' | 'signed_out' | 'path' | 'query' | 'body' | 'body_read' | 'busy'

/**
 * Returns the listener of a backend without `onEvent`. On loopback it prints one line for the first failure that has a cause, and for each
 * setup problem before it, because the developer sees only a 404, 502 or 503 otherwise.
 */
export function unheardEvents(isLocal: boolean): (event: BackendEvent) => void {
  let isSilent = !isLocal
  return (event) => {
    if (isSilent || !('cause' in event) || !event.cause) return
    isSilent = event.type !== 'setup_problem'
    const { message, code, name, stack = [] }: Partial<ErrorCause> = event.cause
    const what = message ?? [code ?? name, ...stack.slice(0, 1)].join(' ')
    // biome-ignore lint/suspicious/noConsole: a developer reads the console if a request fails, and no call of the app can reject with this.
    console.warn(`agent-auth: ${event.type}: ${what} Set onEvent to receive every event.`)
  }
}
