import type { Clock } from '../internal/clock.ts'
import type { CurrentRecord } from './memory.ts'

/** How long an access token is not refreshed proactively after it was granted, or half its life if that is shorter. */
const minRefreshAgeMs = 5_000
/** How long after a refresh a 401 is final, because another new token would be refused as well. */
const finalRefusalMs = 30_000

/** What a call asks for. */
export interface Wanted {
  /** Whether an API has refused this access token. An older one does not count, because it was replaced. Default `false`. */
  readonly isRejected?: boolean | undefined
  /** How long the token should be valid, in milliseconds. Default 0. */
  readonly minValidMs?: number | undefined
  /** Default `false`. */
  readonly forceRefresh?: boolean | undefined
}

/** What a call gets: the token, a refresh first, or an error. `expire` also ends the session. */
export type Decision = 'login_required' | 'use' | 'expire' | 'refresh_required' | 'refresh_proactively'

/** Decides whether a call uses the token, refreshes it or is refused. */
export function decide(record: CurrentRecord | undefined, clock: Clock, wanted: Wanted = {}): Decision {
  const { isRejected, minValidMs, forceRefresh } = wanted
  if (!record) return 'login_required'
  const nowMs = clock.monotonicMs()
  const life = freshness(record, nowMs, minValidMs)
  // Only a rejected token needs the wall clock, and each reading adds to the cost of every call.
  if (isRejected && life !== 'expired' && isJustRefreshed(record, nowMs, clock.wallMs())) return 'use'
  const isRequired = life === 'expired' || isRejected || forceRefresh
  if (life === 'fresh' && !isRequired) return 'use'
  if (!record.tokens.refreshToken) {
    if (life === 'expired') return 'expire'
    return isRequired ? 'login_required' : 'use'
  }
  return isRequired ? 'refresh_required' : 'refresh_proactively'
}

/**
 * Returns how much of the token's life is left: more than its margin and `minValidMs`, less, or nothing. A token whose lifetime is unknown
 * is `fresh`. So is a young one, because a service with very short lifetimes would get a refresh at every call.
 */
export function freshness(
  { bornMs, lifeMs, marginMs }: Pick<CurrentRecord, 'bornMs' | 'lifeMs' | 'marginMs'>,
  nowMs: number,
  minValidMs = 0,
): 'fresh' | 'expiring' | 'expired' {
  if (lifeMs === undefined) return 'fresh'
  const ageMs = nowMs - bornMs
  if (ageMs >= lifeMs) return 'expired'
  const isYoung = ageMs < Math.min(minRefreshAgeMs, lifeMs / 2)
  return !isYoung && lifeMs - ageMs <= Math.max(marginMs, minValidMs) ? 'expiring' : 'fresh'
}

/**
 * Returns whether the token came from a recent refresh, by both clocks, because the monotonic one may not advance while the machine sleeps.
 * A timestamp far in the future means that the wall clock was put back, so the age is unknown. A record has `rev` 1 until its first refresh.
 */
function isJustRefreshed({ rev, bornMs, tokens }: CurrentRecord, nowMs: number, wallMs: number): boolean {
  const ageMs = Math.max(nowMs - bornMs, Math.abs(wallMs - tokens.obtainedAtMs))
  return rev > 1 && ageMs < finalRefusalMs
}
