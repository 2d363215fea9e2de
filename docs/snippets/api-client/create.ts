import type { AgentApi } from 'agent-auth/api'

/** Creates an agent and returns its id. */
export async function createReader(api: AgentApi): Promise<number | undefined> {
  const { items } = await api.parentAgents.create({
    agent_name: 'Invoice checker',
    description: 'Checks invoices against their orders.',
    parent_agent_type: 'Document Agent', // or parent_agent_type_key, or both
  })
  return items[0]?.id
}
