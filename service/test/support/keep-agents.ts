import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import type { NewParentAgent } from '../../src/store/tables/tenant/parent-agents.ts'
import { parentAgentsOf } from '../../src/store/tables/tenant/parent-agents.ts'

/** Agents as an earlier version kept them, with descriptions of any length. */
export async function keepAgents({ context }: Assembly, count: number, description: string): Promise<void> {
  const db = rawDatabase(context.store.db)
  const model = await db.selectFrom('llm_models').select('id').where('tenant_id', '=', 'demo').executeTakeFirstOrThrow()
  const agents = Array.from({ length: count }, (_, index): NewParentAgent => {
    const name = `Long ${index}`
    return {
      parent_agent_type: 'x',
      parent_agent_type_key: 'long',
      agent_key: name,
      agent_name: name,
      full_display_name: name,
      display_name: name,
      description,
      configs: '{}',
      llm_model: model.id,
      active: 1,
      state_function: '[]',
      created_ms: 0,
    }
  })
  for (let at = 0; at < agents.length; at += 50) {
    await parentAgentsOf(db, 'demo').createAll(agents.slice(at, at + 50))
  }
}
