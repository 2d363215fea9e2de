import type { Context } from 'hono'
import * as z from 'zod'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import type { ParentAgentColumn } from '../../store/tables/tenant/parent-agents.ts'
import type { TenantStore } from '../../store/tenant-store.ts'
import type { ParentAgent } from '../agents/parent-agent-response.ts'
import { parentAgentResponse } from '../agents/parent-agent-response.ts'
import type { Envelope } from '../envelope.ts'
import { succeeded } from '../envelope.ts'
import { checkBody, readBody } from '../validation.ts'
import type { ColumnTypes } from './filters.ts'
import type { SearchBody } from './search-body.ts'
import { searchBody } from './search-body.ts'

const columns: ColumnTypes<ParentAgentColumn> = {
  active: 'boolean',
  agent_key: 'text',
  agent_name: 'text',
  id: 'integer',
  llm_model: 'integer',
  parent_agent_type_key: 'text',
  tenant: 'text',
}

/** The specification does not name the active-state filter. The service calls it `active`. */
export const parentAgentSearchBody: z.ZodType<SearchBody<ParentAgentColumn, boolean>> = searchBody(columns, {
  name: 'active',
  schema: z.boolean(),
})

/** POST /api/parent_agents/search (specification 4.2). */
export async function searchParentAgents(
  c: Context<HttpEnvironment>,
  tenant: TenantStore,
): Promise<Envelope<{ items: ParentAgent[]; count: number }>> {
  const body = await readBody(c.req.raw)
  const found = await c.get('turns').run(tenant.tenantId, async (pause) => {
    const { search, own: active } = checkBody(body, parentAgentSearchBody)
    const filters =
      active === undefined ? [] : [{ kind: 'equals' as const, column: 'active' as const, value: Number(active) }]
    return tenant.agents.search({ ...search, filter: { kind: 'all', filters: [search.filter, ...filters] } }, pause)
  })
  return succeeded({ items: found.rows.map(parentAgentResponse), count: found.count })
}
