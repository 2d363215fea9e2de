import { type AgentApi, isAgentApiError, type NewParentAgent } from 'agent-auth/api'

/** Returns the messages for each field, or nothing if the agent was created. */
export async function submit(
  api: AgentApi,
  agent: NewParentAgent,
): Promise<Readonly<Record<string, readonly string[]>> | undefined> {
  try {
    await api.parentAgents.create(agent)
    return undefined
  } catch (error) {
    if (isAgentApiError(error) && error.code === 'validation_failed') return error.fieldErrors()
    throw error
  }
}
