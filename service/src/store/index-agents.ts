import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { storeLimits } from '../limits.ts'
import type { Db } from './database.ts'
import { rawDatabase } from './database.ts'
import { queryTraitsOf } from './engine/engine.ts'
import { databaseFailureOf } from './engine/failures.ts'
import { transact } from './engine/transact.ts'
import { trigramsOf } from './tables/tenant/trigrams.ts'

/**
 * Adds to the index of search texts the agents that an earlier version wrote: `textRows`, 64, in each transaction, so that other
 * processes go on. If another one adds the same agents, each begins again with those that are left.
 */
export async function indexAgents(db: Db): Promise<void> {
  for (;;) {
    try {
      if ((await transact(db, indexSome, 'after-lock-timeout')) < storeLimits.textRows) return
    } catch (error) {
      if (databaseFailureOf(error) !== 'conflict') throw error
      await sleep(storeLimits.migrationPauseMs)
    }
  }
}

/** Returns how many agents it added. */
async function indexSome(tx: Db): Promise<number> {
  const raw = rawDatabase(tx)
  const agents = await raw
    .selectFrom('parent_agents')
    .select(['id', 'tenant_id', 'search_text'])
    .where('has_trigrams', '=', sql.lit(0))
    .orderBy('tenant_id')
    .orderBy('id')
    .limit(storeLimits.textRows)
    .execute()
  if (agents.length === 0) return 0
  const indexed = agents.map(({ id, tenant_id, search_text }) => ({ id, trigrams: trigramsOf(tenant_id, search_text) }))
  await queryTraitsOf(raw).trigrams.add(raw, indexed)
  const ids = agents.map(({ id }) => id)
  await raw.updateTable('parent_agents').set({ has_trigrams: 1 }).where('id', 'in', ids).execute()
  return agents.length
}
