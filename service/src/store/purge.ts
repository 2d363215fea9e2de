import { type RawBuilder, sql } from 'kysely'
import { lifetimes, storeLimits } from '../limits.ts'
import { type Db, queryTraitsOf, type RawDatabase, rawDatabase } from './database.ts'
import type { Tables } from './schema.ts'

interface Purged {
  table: keyof Tables
  key: string
  expired: RawBuilder<unknown>
}

/**
 * Deletes expired rows, some at a time. Returns `more` if rows may
 * be left. The next request then purges again.  Used codes and rotated refresh tokens stay until their authorization has expired, so that a late replay
 * is still found. There is no limit to the codes, authorizations and tokens of a user. They are deleted only after they
 * have expired.
 */
export async function purge(db: Db, nowMs: number): Promise<'done' | 'more'> {
  let statementsLeft: number = storeLimits.purgeStatements
  for (const purged of purgedAt(nowMs)) {
    let removed: number
    do {
      if (statementsLeft === 0) return 'more'
      statementsLeft -= 1
      removed = await removeSome(rawDatabase(db), purged)
      // A full batch may have left rows of its kind, so another one follows.
    } while (removed === storeLimits.purgedRows)
  }
  return 'done'
}

/** Tokens before their authorizations, because foreign keys refuse the other order. */
function purgedAt(nowMs: number): Purged[] {
  const isPast = (column: string, atMs = nowMs): RawBuilder<unknown> => sql`${sql.ref(column)} <= ${atMs}`
  const isOfExpiredAuthorization = sql`grant_id in (select id from grants where expires_ms <= ${nowMs})`
  const isIdleOrOld = sql`${isPast('seen_ms', nowMs - lifetimes.signInIdleMs)} or ${isPast('created_ms', nowMs - lifetimes.signInMs)}`
  return [
    { table: 'authorization_requests', key: 'id_hash', expired: isPast('expires_ms') },
    { table: 'session_tokens', key: 'hash', expired: isPast('expires_ms') },
    { table: 'access_tokens', key: 'hash', expired: isPast('expires_ms') },
    { table: 'sign_in_sessions', key: 'id_hash', expired: isIdleOrOld },
    { table: 'authorization_codes', key: 'hash', expired: isPast('keep_until_ms') },
    { table: 'access_tokens', key: 'hash', expired: isOfExpiredAuthorization },
    { table: 'refresh_tokens', key: 'hash', expired: isOfExpiredAuthorization },
    { table: 'grants', key: 'id', expired: isPast('expires_ms') },
  ]
}

async function removeSome(db: RawDatabase, { table, key, expired }: Purged): Promise<number> {
  const [from, id] = [sql.table(table), sql.ref(key)]
  const some = sql`select ${id} from ${from} where ${expired} limit ${storeLimits.purgedRows}`
  const { numAffectedRows = 0n } = await sql`delete from ${from} where ${id} in (${some})`.execute(db)
  return Number(numAffectedRows)
}

/** Children come before parents, because foreign keys refuse the other order. */
const childrenFirst = [
  'registry_events',
  'context_groups',
  'parent_agents',
  'llm_models',
  'session_tokens',
  'access_tokens',
  'refresh_tokens',
  'grants',
  'authorization_codes',
  'authorization_requests',
  'sign_in_sessions',
  'client_approvals',
  'client_redirect_uris',
  'client_secrets',
  'clients',
  'people',
  'tenants',
] as const

/** Deletes the rows of all tables except `service_keys`, which holds the keys of the service. */
export async function deleteAllData(tx: Db): Promise<void> {
  const db = rawDatabase(tx)
  await queryTraitsOf(db).deleteRows(db, childrenFirst)
}
