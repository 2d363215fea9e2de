import type { TokenClaims } from '../../claims.ts'
import { firstBackoffMs } from '../../internal/limits.ts'
import type { SessionEndReason, SessionState } from '../../session/memory.ts'

/** The state of a session that a backend keeps, as its page knows it. */
export interface BackendClientState extends SessionState {
  /** The time by which the user must sign in again, in epoch milliseconds of the backend's clock. */
  readonly endsAtMs?: number
  /** What the access token says about its user. Undefined if it is not a JWT. Not verified: fit for display only. */
  readonly claims?: TokenClaims
}

/**
 * Returns the text that other pages get: `sessionRef`, or else `reason`, or else `status`. It differs after another sign-in, or if no
 * user is signed in. Other pages take over only the reason `signed_out` (session.ts).
 */
export function summaryOf({ sessionRef, reason, status }: BackendClientState): string {
  return sessionRef ?? reason ?? status
}

/**
 * Returns what the backend reports. If it reports that the session of this page has ended, a reason is added, because the backend gives
 * none. The reason is `heard` (`heardReason` in session.ts) if there is one. Otherwise it is `expired` if `endsAtMs` has passed, and
 * `store_lost` if not. It stays until a user signs in.
 */
export function withReason(
  next: BackendClientState,
  before: BackendClientState,
  heard: SessionEndReason | undefined,
): BackendClientState {
  const reason =
    before.status === 'signed-in' ? (heard ?? (leftMs(before) > 0 ? 'store_lost' : 'expired')) : before.reason
  return next.status === 'signed-out' && reason ? { ...next, reason } : next
}

/**
 * Returns the wait until the next read. Before `endsAtMs` it is the time left, and `firstBackoffMs`, 500 ms, more. If the backend still
 * reports the session after that, this clock is ahead. The wait is then the time since `endsAtMs`, and 500 ms more, so that it about
 * doubles with each read. Without `endsAtMs` it is infinite, and revalidation.ts limits it.
 */
export function nextReadMs(state: BackendClientState): number {
  return Math.abs(leftMs(state)) + firstBackoffMs
}

function leftMs({ endsAtMs = Infinity }: BackendClientState): number {
  return endsAtMs - Date.now()
}
