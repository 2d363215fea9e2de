import type { Selectable } from 'kysely'
import type { RawDatabase } from '../../database.ts'
import { partsOf } from '../../engine/split-rows.ts'
import type { ContextGroupTable } from '../../schema.ts'
import { requireTenant } from './search.ts'

export type ContextGroupRow = Selectable<ContextGroupTable>
export type NewContextGroup = Omit<ContextGroupRow, 'id' | 'tenant_id' | 'agent_id' | 'position'>

/** The context variable groups of one tenant's agents. */
export interface ContextGroups {
  ofAgent(agentId: number): Promise<ContextGroupRow[]>
  create(agents: { agentId: number; groups: NewContextGroup[] }[]): Promise<void>
}

export function contextGroupsOf(db: RawDatabase, tenantId: string): ContextGroups {
  return {
    async ofAgent(agentId) {
      const rows = await db
        .selectFrom('context_groups')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('agent_id', '=', agentId)
        .orderBy('position')
        .execute()
      for (const row of rows) requireTenant(row.tenant_id, tenantId)
      return rows
    },
    async create(agents) {
      const rows = agents.flatMap(({ agentId, groups }) =>
        groups.map((group, position) => ({ ...group, tenant_id: tenantId, agent_id: agentId, position })),
      )
      for (const part of partsOf(rows)) await db.insertInto('context_groups').values(part).execute()
    },
  }
}
