import type { ParentAgentRow } from '../../store/tables/tenant/parent-agents.ts'

/** A parent agent in a response, with the members of specification 2.2. */
export interface ParentAgent {
  id: number
  parent_agent_type: string
  parent_agent_type_key: string
  agent_key: string
  agent_name: string
  full_display_name: string
  tenant: string
  display_name: string
  description: string
  configs: AgentConfigs
  llm_model: number
  llm_model_name: string
  active: boolean
  state_function: Record<string, unknown>[]
  created_at: string
}

export interface AgentConfigs {
  last_agent_in_group: string
  max_rounds: string
  temperature: number
  max_messages: string
  continue_with_last_agent: boolean
  memory_expiration: {
    thread_ttl_hours: number
    agent_ttl_days: number
    tenant_ttl_days: number
    clear_thread_on_conversation_end: boolean
  }
}

/** Returns the agent of a row. Its `created_at` is ISO 8601 in UTC. */
export function parentAgentResponse(row: ParentAgentRow): ParentAgent {
  return {
    id: row.id,
    parent_agent_type: row.parent_agent_type,
    parent_agent_type_key: row.parent_agent_type_key,
    agent_key: row.agent_key,
    agent_name: row.agent_name,
    full_display_name: row.full_display_name,
    tenant: row.tenant_id,
    display_name: row.display_name,
    description: row.description,
    configs: JSON.parse(row.configs),
    llm_model: row.llm_model,
    llm_model_name: row.llm_model_name,
    active: row.active === 1,
    state_function: JSON.parse(row.state_function),
    // ISO 8601 in UTC, because the specification does not show the format.
    created_at: new Date(row.created_ms).toISOString(),
  }
}
