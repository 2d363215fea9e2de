import { agentSearch, callApi, type Service } from './login.ts'

export interface Caller {
  service: Service
  token: string
}

export interface Created {
  status: number
  /** A response of 200 has it. */
  data: { items: Record<string, unknown>[] }
  /** A response of 422 has it. */
  detail: { loc: (string | number)[]; type: string }[]
}

/** A body that the service accepts. */
export const agent = {
  agent_name: 'Tax Helper',
  description: 'Explains tax forms.',
  parent_agent_type: 'Document Agent',
}

export async function createAgent({ service, token }: Caller, body: object): Promise<Created> {
  const answer = await callApi(service, { token, path: '/api/parent_agents', body })
  return { ...((await answer.json()) as Omit<Created, 'status'>), status: answer.status }
}

/** How many agents the caller finds. */
export async function countAgents({ service, token }: Caller): Promise<number> {
  const answer = await callApi(service, { token, path: agentSearch, body: {} })
  return ((await answer.json()) as { data: { count: number } }).data.count
}
