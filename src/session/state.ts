/** Why a session ended: the user signed out, the refresh token was refused, the record vanished, or nothing can refresh it. */
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
