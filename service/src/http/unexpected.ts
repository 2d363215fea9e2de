import { randomUUID } from 'node:crypto'
import { failureOf } from '../store/failures.ts'

/** What a handler did not foresee, as far as it is told outside. */
export type Unexpected =
  | { kind: 'unavailable'; status: 503; headers: { 'Retry-After': string } }
  | { kind: 'unexpected'; status: 500; headers: Record<string, never>; id: string }

const retryAfterSeconds = 1

/**
 * 503 when the database is locked, full, read-only or away: its transaction was rolled back, nothing is consumed and
 * the same request may come again. Anything else is 500 with a number to find the event by (S-088, A-41).
 */
export function unexpected(error: unknown): Unexpected {
  if (failureOf(error) === 'other') return { kind: 'unexpected', status: 500, headers: {}, id: randomUUID() }
  return { kind: 'unavailable', status: 503, headers: { 'Retry-After': String(retryAfterSeconds) } }
}
