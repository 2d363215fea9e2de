import { randomUUID } from 'node:crypto'
import type { Context, Hono } from 'hono'
import type { ServiceContext } from '../context.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { BrokenOffError, jsonResponse } from '../http/messages.ts'
import { serverLimits, storeLimits } from '../limits.ts'
import { databaseFailureOf } from '../store/failures.ts'
import type { MissingPart } from '../store/store.ts'

/** An error that no handler expected, as far as a response may describe it. */
export type Unexpected =
  | { kind: 'broken-off'; status: 499; headers: Record<string, never> }
  | { kind: 'unavailable'; status: 503; headers: { 'Retry-After': string } }
  | { kind: 'unexpected'; status: 500; headers: Record<string, never>; id: string }

/**
 * Returns 503 if the database is locked, full, read-only or away: unless a commit was in progress, nothing has changed, and
 * the same request may come again. Returns 499 for the journal if the client has disconnected. Any other error is 500 with
 * an id. `Retry-After` is `serverLimits.retryAfterMs`, 1 s.
 */
export function unexpected(error: unknown): Unexpected {
  if (error instanceof BrokenOffError) return { kind: 'broken-off', status: 499, headers: {} }
  if (databaseFailureOf(error) === 'other') return { kind: 'unexpected', status: 500, headers: {}, id: randomUUID() }
  return { kind: 'unavailable', status: 503, headers: { 'Retry-After': String(serverLimits.retryAfterMs / 1_000) } }
}

/** How long `/readyz` waits for the database. */
const readyMs = 2_000

/**
 * Serves `/healthz` and `/readyz`. They come before the check of `Host`, because a probe names the address of a
 * container, and before journal and faults, because a probe is no request of a client.
 */
export function serveHealth(app: Hono<HttpEnvironment>, { store }: ServiceContext): void {
  let checking: Promise<MissingPart[]> | undefined
  // Probes share one check, so that many of them cost one query. If the query takes longer than a
  // statement may, the next probe starts another one.
  function missing(): Promise<MissingPart[]> {
    checking ??= within(storeLimits.statementMs, store.missing()).finally(() => {
      checking = undefined
    })
    return within(readyMs, checking)
  }
  app.get('/healthz', (c) => jsonResponse(c, { status: 'alive' }))
  app.get('/readyz', async (c) => {
    const parts = await missing()
    if (parts.length === 0) return jsonResponse(c, { status: 'ready', missing: [] })
    c.header('Retry-After', String(serverLimits.retryAfterMs / 1_000))
    return jsonResponse(c, { status: 'not-ready', missing: parts }, 503)
  })
}

/** Returns the 421 of the authorization host. */
export function refuseHost(c: Context<HttpEnvironment>, problem: string): Response {
  return jsonResponse(c, { error: 'invalid_request', error_description: problem }, 421)
}

/** Resolves with `database` if the check takes longer than `timeMs`. */
async function within(timeMs: number, checked: Promise<MissingPart[]>): Promise<MissingPart[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<MissingPart[]>((resolve) => {
    timer = setTimeout(() => resolve(['database']), timeMs)
    // A process that closed the service can end before a query that hangs.
    timer.unref()
  })
  try {
    return await Promise.race([checked, late])
  } finally {
    clearTimeout(timer)
  }
}
