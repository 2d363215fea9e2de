import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import { queryTraitsOf } from '../engine/engine.ts'
import type { Tables } from '../schema.ts'

/**
 * Makes the index of search texts. Agents that are there are added later, in transactions of their own (store/index-agents.ts).
 * Until then, a search reads their texts, also those of agents that a running older version adds.
 */
export async function addAgentTrigrams(db: Kysely<Tables>): Promise<void> {
  await queryTraitsOf(db).trigrams.create(db)
  await db.schema
    .alterTable('parent_agents')
    .addColumn('has_trigrams', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createIndex('parent_agents_without_trigrams')
    .on('parent_agents')
    .columns(['tenant_id', 'id'])
    .where(sql`has_trigrams`, '=', sql.lit(0))
    .execute()
}
