import type { AuthConfig } from '../config.ts'
import type { StorageProblem } from '../events.ts'
import type { MaybePromise } from '../storage/token-storage.ts'
import type { ExpectedRecord } from './expected.ts'
import type { HeldTokens } from './held-tokens.ts'
import type { SessionRecord, Stored } from './record.ts'
import type { SessionStore } from './store.ts'

/** Why a session is over: the person signed out, the service refused, the record vanished, or nothing can renew it. */
export type SessionEndReason = 'signed_out' | 'refused' | 'store_lost' | 'expired'

/** What is known about who is signed in. */
export interface SessionState {
  /** `loading` until the storage was read. */
  readonly status: 'loading' | 'signed-in' | 'signed-out'
  /** Why the last session ended. */
  readonly reason?: SessionEndReason
  /** Names this sign-in: another person's differs, a refresh keeps it. Random, and not a secret. */
  readonly sessionRef?: string
  /** When the access token ends, in epoch milliseconds of this machine's clock. */
  readonly expiresAtMs?: number
}

/** What this realm knows of the session: the tokens it holds, the public state and who listens to it. */
export interface SessionHolder {
  readonly config: AuthConfig
  readonly store: SessionStore
  readonly held: HeldTokens | undefined
  readonly state: SessionState
  /** The record that the store should show; it has a meaning only while tokens are held. */
  readonly expected: ExpectedRecord
  /** Says what the store should show from now on. */
  expect(expected: ExpectedRecord): void
  /**
   * Reads the store when it is time, or anew in any case; rejects with `storage_failed` when nothing is held either. A
   * reading under way may be of before whatever calls for a new one.
   */
  look(when?: 'due' | 'now'): MaybePromise<void>
  /** Follows what the store holds: a newer record is taken over, a vanished one ends the session. */
  adopt(stored: Stored): void
  /** Takes up tokens that are as old as their stamp says, but at most `maxAgeMs`; the store should show `expected`. */
  hold(record: SessionRecord, expected: ExpectedRecord, maxAgeMs?: number): void
  /** Ends what is held and never takes up its record, or the one named, again. */
  end(reason: SessionEndReason, id?: string): void
  /** Takes up nothing the store shows until the work has ended, nor what was read before that. */
  ignoreUntil(work: Promise<unknown>): void
  /** Never takes up the record of this sign-in. */
  markOver(id: string): void
  /** Whether this sign-in ended here, by sign-out, refusal or another sign-in; its record must not come back. */
  isOver(id: string): boolean
  /** Whether this access token came from a sign-in that is no longer the current one. */
  isFromAnotherSession(accessToken: string | undefined): boolean
  /** Emits `storage_degraded`, once until the same goes well again. */
  report(reason: StorageProblem): void
  /** Tells the listeners, once, what changed; never called while this realm holds the lock. */
  flush(): void
  subscribe(listener: () => void): () => void
}
