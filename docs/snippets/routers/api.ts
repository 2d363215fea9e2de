import { type AgentApi, createAgentApi, type ParentAgent } from 'agent-auth/api'
import { auth } from './auth'
import { settings } from './settings'

/** Sends each call with the token of the signed-in user. */
export const api: AgentApi = createAgentApi({ baseUrl: settings.baseUrl, fetch: auth.fetch })

export async function findAgents(): Promise<readonly ParentAgent[]> {
  const { items } = await api.parentAgents.search({ limit: 10 })
  return items
}

/** For loaders, which run for signed-out users too. They get no agents, and `RequireSession` starts the login. */
export async function loadAgents(): Promise<readonly ParentAgent[]> {
  const { status } = await auth.session.ready()
  return status === 'signed-in' ? findAgents() : []
}
