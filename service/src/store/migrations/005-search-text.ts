import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import type { Tables } from '../schema.ts'
import { searchTextOf } from '../tables/tenant/checked-search.ts'

/** Folds what earlier versions left: the sigma at the end of a word, and line breaks of descriptions. */
export async function foldSearchText(db: Kysely<Tables>): Promise<void> {
  for (const table of ['parent_agents', 'llm_models'] as const) {
    await db
      .updateTable(table)
      .set({ search_text: sql<string>`replace(search_text, 'ς', 'σ')` })
      .where('search_text', 'like', '%ς%')
      .execute()
  }
  const agents = await db
    .selectFrom('parent_agents')
    .select(['id', 'agent_name', 'agent_key', 'display_name', 'description'])
    .where('description', 'like', '%\n%')
    .execute()
  for (const { id, agent_name, agent_key, display_name, description } of agents) {
    const search_text = searchTextOf([agent_name, agent_key, display_name, description])
    await db.updateTable('parent_agents').set({ search_text }).where('id', '=', id).execute()
  }
}
