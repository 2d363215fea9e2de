import { isAgentAuthError } from 'agent-auth'
import { type BrowserAuth, createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'

export const auth: BrowserAuth = createBrowserAuth({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'my-app',
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(), // leave it out to keep the login in memory only
})

export async function start(): Promise<void> {
  const { status } = await auth.ready() // finishes a login when this page is its callback
  if (status !== 'signed-in') return auth.signIn() // comes back to this page
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ limit: 10, offset: 0 })
  const response = await auth.fetch('/api/llm_models/search', { method: 'POST', headers, body })
  document.body.textContent = await response.text()
}

start().catch((error: unknown) => {
  document.body.textContent = isAgentAuthError(error) ? error.message : 'Something went wrong.'
})
