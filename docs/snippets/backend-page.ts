import { type BackendClient, createBackendClient } from 'agent-auth/backend/client'

const auth: BackendClient = createBackendClient()

export function start(show: (text: string) => void): void {
  const update = (): void => {
    const { status, claims } = auth.state // loading, signed-in or signed-out
    show(status === 'signed-in' ? `Signed in, tenant ${claims?.tenant}` : status)
  }
  auth.subscribe(update)
  update()
}

export const signIn = (): Promise<void> => auth.signIn({ returnTo: '/agents' })
export const signOut = (): Promise<void> => auth.signOut()

export async function countAgents(): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: '{"limit":1,"offset":0}' }
  const response = await auth.fetch('/api/parent_agents/search', request)
  if (auth.state.status === 'signed-out') return undefined // the session has ended
  if (!response.ok) throw new Error(`the API responded with ${response.status}`)
  const { data } = (await response.json()) as { data: { count: number } }
  return data.count
}
