/**
 * Why a session ended.
 * - `signed_out`: the user signed out here, or elsewhere if the record is not shared (`followSignOut` in session.ts) or not saved
 *   (`endUnsaved` in sign-out.ts).
 * - `refused`: the authorization server refused the refresh token (`endRefused` in refresh.ts).
 * - `store_lost`: the record is gone, because another tab or process signed out or the data was cleared (reconcile.ts).
 * - `expired`: the access token expired, and there is no refresh token (decide-call.ts). The record stays.
 */
export type SessionEndReason = 'signed_out' | 'refused' | 'store_lost' | 'expired'

/** What is known about the signed-in user. */
export interface SessionState {
  /**
   * `loading` until the storage was read, or a `signIn` or `signOut`. It stays `loading` if that read fails or takes over 5 s
   * (storage/time-limits.ts): `ready()`
   * rejects with `storage_failed`, and the next call reads again. In a browser, records live in memory if the first read fails or takes
   * over 4 s (browser/storage/memory-fallback.ts).
   */
  readonly status: 'loading' | 'signed-in' | 'signed-out'
  /** Why the last session ended. */
  readonly reason?: SessionEndReason
  /** Identifies this sign-in: a refresh keeps it, another sign-in changes it. Random, and not a secret. */
  readonly sessionRef?: string
  /** When the access token expires, in epoch milliseconds by the clock of the machine that obtained it. For display only. */
  readonly expiresAtMs?: number
}
