import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import { searchTextOf } from '../tables/tenant/checked-search.ts'

const mostAtOnce = 1_000

/**
 * Adds the column of names as they were sent. It is null in older rows, because earlier versions stored names in NFC only. Folds the
 * search texts again, because earlier versions did not bring descriptions to NFC.
 */
export async function keepNamesAsSent(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('parent_agents').addColumn('name_as_sent', 'text').execute()
  for (let last = 0; ; ) {
    const agents = await db
      .selectFrom('parent_agents')
      .select(['id', 'agent_name', 'agent_key', 'display_name', 'description', 'search_text'])
      .where('id', '>', last)
      .orderBy('id')
      .limit(mostAtOnce)
      .execute()
    for (const { id, search_text: before, ...agent } of agents) {
      const search_text = searchTextOf([agent.agent_name, agent.agent_key, agent.display_name, agent.description])
      if (search_text !== before)
        await db.updateTable('parent_agents').set({ search_text }).where('id', '=', id).execute()
      last = id
    }
    if (agents.length < mostAtOnce) return
  }
}
