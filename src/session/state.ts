/**
 * Why a session ended.
 * - `signed_out`: the user signed out, here or elsewhere (sign-out.ts).
 * - `refused`: the authorization server refused the refresh token (`endRefused` in refresh.ts).
 * - `store_lost`: the record vanished from the storage (reconcile.ts).
 * - `expired`: the access token expired, and there is no refresh token (decide.ts). The record stays.
 */
export type SessionEndReason = 'signed_out' | 'refused' | 'store_lost' | 'expired'

/** What is known about the signed-in user. */
export interface SessionState {
  /** `loading` until the storage was read. */
  readonly status: 'loading' | 'signed-in' | 'signed-out'
  /** Why the last session ended. */
  readonly reason?: SessionEndReason
  /** Identifies this sign-in: a refresh keeps it, another sign-in changes it. Random, and not a secret. */
  readonly sessionRef?: string
  /** When the access token expires, in epoch milliseconds of this machine's clock. */
  readonly expiresAtMs?: number
}
