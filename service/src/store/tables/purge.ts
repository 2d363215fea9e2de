import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { Tables } from '../schema.ts'
import type { Db } from '../store.ts'
import { absoluteLifeMs, idleLifeMs } from './sign-in-sessions.ts'

/** A statement over many rows would run into PostgreSQL's time limit, be rolled back, and never succeed. */
const rowsAtOnce = 1_000
const mostStatements = 40

interface Purged {
  table: keyof Tables
  key: string
  expired: RawBuilder<unknown>
}

/**
 * Removes what can no longer matter, some rows at a time; `more` when rows are left. Used codes and rotated refresh
 * tokens stay until their whole grant has expired, so that a replay is noticed however late it comes (S-032, S-052).
 */
export async function purge(db: Db, nowMs: number): Promise<'done' | 'more'> {
  let left = mostStatements
  for (const purged of purgedAt(nowMs)) {
    let removed = rowsAtOnce
    for (; left > 0 && removed === rowsAtOnce; left -= 1) removed = await removeSome(db, purged)
    if (removed === rowsAtOnce) return 'more'
  }
  return 'done'
}

/** Tokens before their grants. */
function purgedAt(nowMs: number): Purged[] {
  const isPast = (column: string, atMs = nowMs): RawBuilder<unknown> => sql`${sql.ref(column)} <= ${atMs}`
  const isOfExpiredGrant = sql`grant_id in (select id from grants where expires_ms <= ${nowMs})`
  const isIdleOrOld = sql`${isPast('seen_ms', nowMs - idleLifeMs)} or ${isPast('created_ms', nowMs - absoluteLifeMs)}`
  return [
    { table: 'authorization_requests', key: 'id_hash', expired: isPast('expires_ms') },
    { table: 'session_tokens', key: 'hash', expired: isPast('expires_ms') },
    { table: 'access_tokens', key: 'hash', expired: isPast('expires_ms') },
    { table: 'sign_in_sessions', key: 'id_hash', expired: isIdleOrOld },
    { table: 'authorization_codes', key: 'hash', expired: isPast('keep_until_ms') },
    { table: 'access_tokens', key: 'hash', expired: isOfExpiredGrant },
    { table: 'refresh_tokens', key: 'hash', expired: isOfExpiredGrant },
    { table: 'grants', key: 'id', expired: isPast('expires_ms') },
  ]
}

async function removeSome(db: Db, { table, key, expired }: Purged): Promise<number> {
  const [from, id] = [sql.table(table), sql.ref(key)]
  const some = sql`select ${id} from ${from} where ${expired} limit ${rowsAtOnce}`
  const { numAffectedRows = 0n } = await sql`delete from ${from} where ${id} in (${some})`.execute(db)
  return Number(numAffectedRows)
}
