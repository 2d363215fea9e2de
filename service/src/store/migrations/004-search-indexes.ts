import type { Kysely } from 'kysely'
import type { StoreEngine } from '../engine/engine.ts'

/**
 * An index for each column of agents that a search filters or sorts by, behind the tenant, which every query names.
 * `id` is last because it breaks ties, so that a page is read in order and a count never leaves the index. (`agent_key`
 * has the index of its unique constraint, `id` one of the first migration.) Listing what is active by name is so
 * common that it has one of its own: otherwise all active agents would be sorted for a page of them.
 */
const indexes: Record<string, string[]> = {
  parent_agents_by_name: ['agent_name'],
  parent_agents_by_type: ['parent_agent_type_key'],
  parent_agents_by_model: ['llm_model'],
  parent_agents_by_activity: ['active'],
  parent_agents_by_activity_and_name: ['active', 'agent_name'],
}

/** A big table: all rows, then how many share the tenant, the tenant and the first own column, and so on. */
const selectivity: Record<string, number[]> = {
  parent_agents_by_tenant: [1_000_000, 10_000, 1],
  parent_agents_by_name: [1_000_000, 10_000, 2, 1],
  parent_agents_by_type: [1_000_000, 10_000, 200, 1],
  parent_agents_by_model: [1_000_000, 10_000, 1_000, 1],
  parent_agents_by_activity: [1_000_000, 10_000, 5_000, 1],
  parent_agents_by_activity_and_name: [1_000_000, 10_000, 5_000, 2, 1],
  sqlite_autoindex_parent_agents_1: [1_000_000, 10_000, 1],
}

export async function addSearchIndexes(db: Kysely<unknown>, { describeIndexes }: StoreEngine): Promise<void> {
  for (const [index, own] of Object.entries(indexes)) {
    const columns = ['tenant_id', ...own, 'id']
    await db.schema.createIndex(index).on('parent_agents').columns(columns).execute()
  }
  await describeIndexes(db, 'parent_agents', selectivity)
}
