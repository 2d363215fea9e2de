import { type AgentApi, createAgentApi } from 'agent-auth/api'
import { createBrowserAuth } from 'agent-auth/browser'

const baseUrl = 'https://api.example.com'
const auth = createBrowserAuth({
  authUrl: 'https://auth.example.com',
  baseUrl,
  clientId: 'my-app',
  redirectUri: `${location.origin}/callback`,
})
export const api: AgentApi = createAgentApi({ baseUrl, fetch: auth.fetch })

/** The names of up to ten agents that are on. */
export async function activeAgents(text: string): Promise<string[]> {
  const { items } = await api.parentAgents.search({ search_value: text, active: true, limit: 10 })
  return items.map(({ agent_name }) => agent_name)
}
