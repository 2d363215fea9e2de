import { randomFraction } from '../internal/backoff.ts'
import { maxMarginMs, minRefreshAgeMs } from '../internal/limits.ts'

/** The age and the life of an access token, which say when it is refreshed. */
export interface TokenLife {
  /** When the life of the access token began, on the monotonic clock. */
  readonly bornMs: number
  /**
   * How long the access token lives: `expires_in`, or else `exp` and `iat` of a JWT (`tokensFromResponse` in tokens.ts). Undefined if
   * unknown.
   */
  readonly lifeMs: number | undefined
  /** How long before its end the token is refreshed: a tenth of its life, at most 60 s; chance adds up to a tenth of the margin. */
  readonly marginMs: number
}

/**
 * How much of an access token's life is left: more than the margin and `minValidMs`, less, or nothing. A young token and one
 * whose lifetime is unknown are `fresh` as well. The margin is a tenth of the life, at most 60 s, and chance adds up to a tenth
 * of the margin (`drawMarginMs`). A token is young until it is `minRefreshAgeMs`, 5 s old, or half its life if that is
 * shorter.
 */
export type Freshness = 'fresh' | 'expiring' | 'expired'

export function freshness({ bornMs, lifeMs, marginMs }: TokenLife, nowMs: number, minValidMs = 0): Freshness {
  if (lifeMs === undefined) return 'fresh'
  const ageMs = nowMs - bornMs
  if (ageMs >= lifeMs) return 'expired'
  // A young token is not refreshed proactively, because a service with very short lifetimes would get a refresh at every call.
  const isYoung = ageMs < Math.min(minRefreshAgeMs, lifeMs / 2)
  return !isYoung && lifeMs - ageMs <= Math.max(marginMs, minValidMs) ? 'expiring' : 'fresh'
}

/** Draws how long before its end a token is refreshed. */
export function drawMarginMs(lifeMs: number): number {
  return Math.min(maxMarginMs, lifeMs / 10) * (1 + randomFraction() / 10)
}
