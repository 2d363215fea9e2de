import type * as z from 'zod'
import type { ParentAgentColumn } from '../../store/tables/tenant/parent-agents.ts'
import type { Search } from '../../store/tables/tenant/search.ts'
import type { ParentAgent } from '../agents/parent-agent-response.ts'
import { parentAgentResponse } from '../agents/parent-agent-response.ts'
import type { Envelope } from '../envelope.ts'
import { succeeded } from '../envelope.ts'
import type { ApiCall } from '../validation.ts'
import { checkBody } from '../validation.ts'
import type { ColumnTypes } from './search-body.ts'
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
export const parentAgentSearchBody: z.ZodType<Search<ParentAgentColumn>> = searchBody(columns, 'active')

/** POST /api/parent_agents/search (specification 4.2). */
export async function searchParentAgents({
  tenant,
  bytes,
}: ApiCall): Promise<Envelope<{ items: ParentAgent[]; count: number }>> {
  const { rows, count } = await tenant.agents.search(checkBody(bytes, parentAgentSearchBody))
  return succeeded({ items: rows.map(parentAgentResponse), count })
}
