import type { Selectable } from 'kysely'
import type { RawDatabase } from '../../database.ts'
import { partsOf } from '../../engine/split-rows.ts'
import type { ParentAgentTable } from '../../schema.ts'
import type { Found, Search } from './search.ts'
import { requireTenant, searchTenant, searchTextOf } from './search.ts'

export type ParentAgentRow = Omit<Selectable<ParentAgentTable>, 'name_as_sent' | 'search_text'> & {
  llm_model_name: string
}

export type ParentAgentColumn =
  | 'active'
  | 'agent_key'
  | 'agent_name'
  | 'id'
  | 'llm_model'
  | 'parent_agent_type_key'
  | 'tenant'

export type NewParentAgent = Omit<Selectable<ParentAgentTable>, 'id' | 'tenant_id' | 'search_text' | 'name_as_sent'>

/** The agents of one tenant. */
export interface ParentAgents {
  search(search: Search<ParentAgentColumn>): Promise<Found<ParentAgentRow>>
  /** Returns undefined if the tenant has an agent with this key already. */
  create(agent: NewParentAgent): Promise<ParentAgentRow | undefined>
  /** Adds agents whose keys are new, and returns their ids by key. */
  createAll(agents: (NewParentAgent & { id?: number })[]): Promise<Map<string, number>>
  has(id: number): Promise<boolean>
  /** Whether the tenant has this many agents, or more. */
  areAtLeast(count: number): Promise<boolean>
}

/** What a response needs. The search text can be as long as the rest of the row. */
const readColumns = [
  'id',
  'tenant_id',
  'parent_agent_type',
  'parent_agent_type_key',
  'agent_key',
  'agent_name',
  'name_as_sent',
  'full_display_name',
  'display_name',
  'description',
  'configs',
  'llm_model',
  'active',
  'state_function',
  'created_ms',
] as const

export function parentAgentsOf(db: RawDatabase, tenantId: string): ParentAgents {
  async function createAll(agents: (NewParentAgent & { id?: number })[]): Promise<Map<string, number>> {
    const created: [string, number][] = []
    for (const part of partsOf(agents)) created.push(...(await insert(db, tenantId, part)))
    return new Map(created)
  }
  return {
    createAll,
    async search(search) {
      const { rows: ids, count } = await searchTenant(db, { table: 'parent_agents', tenantId, search })
      return { rows: await read(db, tenantId, ids), count }
    },
    async create(agent) {
      const ids = await createAll([agent])
      return (await read(db, tenantId, [...ids.values()]))[0]
    },
    async has(id) {
      return (await read(db, tenantId, [id])).length === 1
    },
    async areAtLeast(count) {
      const last = await db
        .selectFrom('parent_agents')
        .select('tenant_id')
        .where('tenant_id', '=', tenantId)
        .orderBy('id')
        .limit(1)
        .offset(count - 1)
        .executeTakeFirst()
      requireTenant(last?.tenant_id ?? null, tenantId)
      return last !== undefined
    },
  }
}

/** Adds agents whose keys are new, and returns keys and ids. */
async function insert(
  db: RawDatabase,
  tenantId: string,
  agents: (NewParentAgent & { id?: number })[],
): Promise<[string, number][]> {
  const rows = agents.map((agent) => ({
    ...agent,
    agent_name: agent.agent_name.normalize('NFC'),
    name_as_sent: agent.agent_name,
    tenant_id: tenantId,
    search_text: searchTextOf([agent.agent_name, agent.agent_key, agent.display_name, agent.description]),
  }))
  const created = await db
    .insertInto('parent_agents')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'agent_key']).doNothing())
    .returning(['id', 'agent_key'])
    .execute()
  return created.map(({ id, agent_key }) => [agent_key, id])
}

/** Returns the rows in the order of the ids. */
async function read(db: RawDatabase, tenantId: string, ids: number[]): Promise<ParentAgentRow[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('parent_agents')
    .innerJoin('llm_models', 'llm_models.id', 'parent_agents.llm_model')
    .select(readColumns.map((column) => `parent_agents.${column}` as const))
    .select('llm_models.model_name as llm_model_name')
    .where('parent_agents.tenant_id', '=', tenantId)
    .where('parent_agents.id', 'in', ids)
    .execute()
  for (const row of rows) requireTenant(row.tenant_id, tenantId)
  const byId = new Map(rows.map(({ name_as_sent, ...row }) => [row.id, { ...row, agent_name: name_as_sent }]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}
