/**
 * Why a session ended.
 * - `signed_out`: the user signed out here, or a new sign-in here could not be saved.
 * - `refused`: the authorization server refused the refresh token.
 * - `store_lost`: the record is gone, because the user signed out elsewhere or the data was cleared.
 * - `expired`: the access token expired, and there is no refresh token. The record stays.
 */
export type SessionEndReason = 'signed_out' | 'refused' | 'store_lost' | 'expired'

/** What is known about the signed-in user. */
export interface SessionState {
  /**
   * `loading` until the storage was read, and while a `signIn` replaces another session. It stays `loading` if the read fails: `ready()`
   * rejects with `storage_failed`, and the next call reads again.
   */
  readonly status: 'loading' | 'signed-in' | 'signed-out'
  /** Why the last session ended. */
  readonly reason?: SessionEndReason
  /** Identifies this sign-in: a refresh keeps it, another sign-in changes it. Random, and not a secret. */
  readonly sessionRef?: string
  /** When the access token expires, in epoch milliseconds by the clock of the machine that obtained it. For display only. */
  readonly expiresAtMs?: number
}
