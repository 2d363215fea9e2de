import { randomFraction } from '../internal/backoff.ts'
import type { Clock } from '../internal/clock.ts'
import { lifeOf } from '../tokens.ts'
import type { SessionRecord } from './record.ts'

/** A record in memory together with its age, which only the monotonic clock measures. */
export interface HeldTokens {
  readonly record: SessionRecord
  /** On the monotonic clock. */
  readonly bornMs: number
  readonly lifeMs: number | undefined
  /** How long before its end the token is renewed: `min(60 s, 10 % of its life)` and up to a tenth more. */
  readonly marginMs: number
}

/**
 * Starts the clock of a token that is `obtainedAtMs` old by the wall clock, within bounds: not negative when that clock
 * went back, and at most `maxAgeMs` when this realm knows better.
 */
export function holdTokens(
  clock: Clock,
  record: SessionRecord,
  maxAgeMs: number = Number.POSITIVE_INFINITY,
): HeldTokens {
  const lifeMs = lifeOf(record.tokens)
  const ageMs = Math.min(Math.max(0, clock.wallMs() - record.tokens.obtainedAtMs), maxAgeMs)
  const marginMs = Math.min(60_000, (lifeMs ?? 0) / 10) * (1 + randomFraction() / 10)
  return { record, bornMs: clock.monotonicMs() - ageMs, lifeMs, marginMs }
}

/** `good` for now, `ageing` when it should be renewed but may still be used, `spent` when it may not. */
export function freshness(held: HeldTokens, nowMs: number, minValidMs = 0): 'good' | 'ageing' | 'spent' {
  const { bornMs, lifeMs, marginMs } = held
  if (lifeMs === undefined) return 'good'
  const ageMs = nowMs - bornMs
  if (ageMs >= lifeMs) return 'spent'
  // A token this young is never renewed, however short its life: that would be a loop.
  const young = ageMs < Math.min(5_000, lifeMs / 2)
  return !young && lifeMs - ageMs <= Math.max(marginMs, minValidMs) ? 'ageing' : 'good'
}
