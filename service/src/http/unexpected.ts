import { randomUUID } from 'node:crypto'
import { databaseFailureOf } from '../store/engine/failures.ts'
import { BrokenOffError } from './body.ts'

/** What a handler did not foresee, as far as it is told outside. */
export type Unexpected =
  | { kind: 'broken-off'; status: 499; headers: Record<string, never> }
  | { kind: 'unavailable'; status: 503; headers: { 'Retry-After': string } }
  | { kind: 'unexpected'; status: 500; headers: Record<string, never>; id: string }

//
const retryAfterSeconds = 1

/**
 * 503 when the database is locked, full, read-only or away: its transaction was rolled back, nothing is consumed and
 * the same request may come again. 499 when the client is gone and only the journal is told. Anything else is 500 with a number to find the event by (S-088, A-41).
 */
export function unexpected(error: unknown): Unexpected {
  if (error instanceof BrokenOffError) return { kind: 'broken-off', status: 499, headers: {} }
  if (databaseFailureOf(error) === 'other') return { kind: 'unexpected', status: 500, headers: {}, id: randomUUID() }
  return { kind: 'unavailable', status: 503, headers: { 'Retry-After': String(retryAfterSeconds) } }
}
