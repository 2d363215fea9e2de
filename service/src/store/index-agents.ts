import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { storeLimits } from '../limits.ts'
import type { Db, RawDatabase } from './database.ts'
import { rawDatabase } from './database.ts'
import { queryTraitsOf } from './engine/engine.ts'
import { databaseFailureOf } from './engine/failures.ts'
import { transact } from './engine/transact.ts'
import { trigramsOf } from './tables/tenant/trigrams.ts'

/**
 * Adds to the index of search texts the agents that an earlier version wrote: `textRows`, 64, in each transaction, so that other
 * processes go on. If two processes add the same agents, the second one waits. On PostgreSQL it then writes the same rows again. On
 * libSQL it reads the agents that are left, because its transaction begins after that of the first.
 */
export async function indexAgents(db: Db): Promise<void> {
  // Read first, because on libSQL the transaction waits for every other transaction that may write, and a start usually has nothing to add.
  while ((await agentsToAdd(rawDatabase(db), 1)).length > 0) {
    try {
      await transact(db, addSome, 'after-lock-timeout')
    } catch (error) {
      // A reset of another process deletes these rows in another order, so that on PostgreSQL each can wait for the other.
      if (databaseFailureOf(error) !== 'conflict') throw error
      await sleep(storeLimits.migrationPauseMs)
    }
  }
}

function agentsToAdd(db: RawDatabase, limit: number) {
  return db
    .selectFrom('parent_agents')
    .select(['id', 'tenant_id', 'search_text'])
    .where('has_trigrams', '=', sql.lit(0))
    .orderBy('tenant_id')
    .orderBy('id')
    .limit(limit)
    .execute()
}

async function addSome(tx: Db): Promise<void> {
  const raw = rawDatabase(tx)
  const agents = await agentsToAdd(raw, storeLimits.textRows)
  if (agents.length === 0) return
  const indexed = agents.map(({ id, tenant_id, search_text }) => ({ id, trigrams: trigramsOf(tenant_id, search_text) }))
  await queryTraitsOf(raw).trigrams.add(raw, indexed)
  const ids = agents.map(({ id }) => id)
  await raw.updateTable('parent_agents').set({ has_trigrams: 1 }).where('id', 'in', ids).execute()
}
