import { readClaims, type TokenClaims } from '../claims.ts'
import type { AuthConfig } from '../config.ts'
import { randomFraction } from '../internal/timeouts.ts'
import { attempt, present } from '../internal/values.ts'
import { lifeOf } from '../tokens.ts'
import type { SessionRecord } from './record.ts'

/**
 * Why a session ended.
 * - `signed_out`: the user signed out here or in another tab that stores apart, or a new sign-in here could not be saved.
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
  /** What the access token says about its user. Undefined if it is not a JWT. Not verified: fit for display only. */
  readonly claims?: TokenClaims
}

/** A record in memory, with the age of its access token, which only the monotonic clock measures. */
export interface CurrentRecord extends SessionRecord {
  /** When the life of the access token began, on the monotonic clock. */
  readonly bornMs: number
  /** How long the access token lives. Undefined if unknown. */
  readonly lifeMs: number | undefined
  /** How long before its end the token is refreshed. */
  readonly marginMs: number
}

/** How long before its end a token is refreshed, or a tenth of its life if that is shorter. */
const maxMarginMs = 60_000
/** How many ended sign-ins a session remembers: far more than one record can still come back. */
const maxEndedSignIns = 256
/** How many access tokens a session remembers, so that it knows which sign-in a refused one came from. */
const maxRememberedTokens = 16

/** What one page or process knows of the session. A class, because a backend has thousands, which share its functions. */
export class SessionMemory {
  /** A new object whenever the tokens change, so that `===` shows whether they are the same ones. */
  record: CurrentRecord | undefined
  /** Whether the storage lacks these tokens, for example because a refresh could not save them. */
  unsaved = false
  state: SessionState = { status: 'loading' }
  /** The sign-ins that ended here: signed out, refused, replaced by another sign-in, or never saved. Their records are not used again. */
  ended: readonly string[] = []
  /** The sign-in of `ended` whose token expired. By the clock of another machine it may be valid, so its record stays. */
  expired: string | undefined
  /** Rises with each change of what is known, so that a read that began before can be discarded. */
  version = 0
  private shown = this.state
  private readonly listeners = new Set<() => void>()
  /** The sign-ins of recent access tokens, the newest first. */
  private tokens: readonly (readonly [accessToken: string, id: string])[] = []

  constructor(private readonly config: Pick<AuthConfig, 'clock' | 'emit'>) {}

  /** Takes over tokens. Their age is that of their timestamp, but at most `maxAgeMs`. */
  become({ id, rev, signedInAtMs, tokens }: SessionRecord, maxAgeMs: number = Infinity): void {
    const { clock } = this.config
    const lifeMs = lifeOf(tokens)
    // Not below zero, because the wall clock may have been put back.
    const ageMs = Math.min(Math.max(0, clock.wallMs() - tokens.obtainedAtMs), maxAgeMs)
    const bornMs = clock.monotonicMs() - ageMs
    this.record = { id, rev, signedInAtMs, tokens, bornMs, lifeMs, marginMs: drawMarginMs(lifeMs ?? 0) }
    this.unsaved = false
    this.version++
    this.tokens = [[tokens.accessToken, id] as const, ...this.tokens].slice(0, maxRememberedTokens)
    this.state = present<SessionState>({
      status: 'signed-in',
      sessionRef: id,
      expiresAtMs: tokens.expiresAtMs,
      claims: readClaims(tokens),
    })
  }

  /** Ends the session. Without a reason, a `signIn` replaces it, and the state is `loading` until that has an outcome. */
  end(reason?: SessionEndReason): void {
    const { record } = this
    this.forget(record?.id)
    this.record = undefined
    this.unsaved = false
    this.expired = reason === 'expired' ? record?.id : undefined
    if (reason && this.state.status !== 'signed-out') this.state = { status: 'signed-out', reason }
    if (!record) return
    if (!reason) this.state = { status: 'loading' }
    else this.config.emit(reason === 'expired' ? { type: 'login_required' } : { type: 'session_ended', reason })
  }

  /** Notes that a sign-in has ended here. */
  forget(id: string | undefined): void {
    this.version++
    if (id) this.ended = [...this.ended.filter((one) => one !== id), id].slice(-maxEndedSignIns)
  }

  /**
   * Returns whether this access token came from a sign-in that is not the current one. A token that is not remembered counts as one of
   * the current sign-in.
   */
  isFromAnotherSignIn(accessToken: string): boolean {
    const [, id] = this.tokens.find(([token]) => token === accessToken) ?? []
    return id !== undefined && id !== this.record?.id
  }

  /** Calls the listeners if the state has changed since the last call. Not to be called under the lock. */
  notify(): void {
    if (this.shown === this.state) return
    this.shown = this.state
    // An error in one listener must not affect the other listeners or the session.
    for (const listener of [...this.listeners]) attempt(listener)
  }

  subscribe(listener: () => void): () => void {
    // A wrapper for each call, because the same function may be subscribed twice, and each subscription is ended separately.
    const own = (): void => listener()
    this.listeners.add(own)
    return () => void this.listeners.delete(own)
  }
}

/** Draws how long before its end a token is refreshed. Chance adds up to a tenth, so that pages do not refresh together. */
export function drawMarginMs(lifeMs: number): number {
  return Math.min(maxMarginMs, lifeMs / 10) * (1 + randomFraction() / 10)
}
