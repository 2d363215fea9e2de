import type { Context } from 'hono'
import * as z from 'zod'
import type { HttpEnvironment } from '../http/environment.ts'
import type { BearerRecord } from '../store/tables/access-tokens.ts'
import type { ParentAgentColumn } from '../store/tables/parent-agents.ts'
import { parentAgentsOf } from '../store/tables/parent-agents.ts'
import type { Envelope } from './envelope.ts'
import { succeeded } from './envelope.ts'
import type { ColumnTypes } from './filters.ts'
import type { ParentAgent } from './parent-agent-response.ts'
import { parentAgentAnswer } from './parent-agent-response.ts'
import type { SearchBody } from './search-body.ts'
import { searchBody } from './search-body.ts'
import { readBody } from './validation.ts'

const columns: ColumnTypes<ParentAgentColumn> = {
  active: 'boolean',
  agent_key: 'text',
  agent_name: 'text',
  id: 'integer',
  llm_model: 'integer',
  parent_agent_type_key: 'text',
  tenant: 'text',
}

/** The active-state filter has no shown name; ours is `active`. */
export const parentAgentSearchBody: z.ZodType<SearchBody<ParentAgentColumn, boolean>> = searchBody(columns, {
  name: 'active',
  schema: z.boolean(),
})

/** POST /api/parent_agents/search (spec 4.2). */
export async function searchParentAgents(
  c: Context<HttpEnvironment>,
  bearer: BearerRecord,
): Promise<Envelope<{ items: ParentAgent[]; count: number }>> {
  const { search, own: active } = await readBody(c.req.raw, parentAgentSearchBody)
  const filters =
    active === undefined ? [] : [{ kind: 'equals' as const, column: 'active' as const, value: Number(active) }]
  const agents = parentAgentsOf(c.get('service').store.db, bearer.tenantId)
  const whole = { ...search, filter: { kind: 'all' as const, filters: [search.filter, ...filters] } }
  const found = await c.get('turns').run(bearer.tenantId, () => agents.search(whole))
  return succeeded({ items: found.rows.map(parentAgentAnswer), count: found.count })
}
