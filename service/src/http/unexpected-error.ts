import { randomUUID } from 'node:crypto'
import { serverLimits } from '../limits.ts'
import { databaseFailureOf } from '../store/engine/failures.ts'
import { BrokenOffError } from './body.ts'

/** An error that no handler expected, as far as a response may describe it. */
export type Unexpected =
  | { kind: 'broken-off'; status: 499; headers: Record<string, never> }
  | { kind: 'unavailable'; status: 503; headers: { 'Retry-After': string } }
  | { kind: 'unexpected'; status: 500; headers: Record<string, never>; id: string }

/**
 * Returns 503 if the database is locked, full, read-only or away: unless a commit was in progress, nothing has changed, and
 * the same request may come again. Returns 499 for the journal if the client has disconnected. Any other error is 500 with
 * an id. `Retry-After` is `serverLimits.retryAfterMs`, 1 s (S-088, A-41).
 */
export function unexpected(error: unknown): Unexpected {
  if (error instanceof BrokenOffError) return { kind: 'broken-off', status: 499, headers: {} }
  if (databaseFailureOf(error) === 'other') return { kind: 'unexpected', status: 500, headers: {}, id: randomUUID() }
  return { kind: 'unavailable', status: 503, headers: { 'Retry-After': String(serverLimits.retryAfterMs / 1_000) } }
}
