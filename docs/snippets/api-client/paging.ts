import type { AgentApi } from 'agent-auth/api'

export async function exportAgents(api: AgentApi, write: (line: string) => void, signal: AbortSignal): Promise<void> {
  const agents = api.parentAgents.searchAll({ active: true }, { signal, maxRows: 10_000 })
  write(`${await agents.total()} agents`)
  for await (const { id, agent_name } of agents) write(`${id} ${agent_name}`)
}
