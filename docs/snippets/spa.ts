import { createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'

const auth = createBrowserAuth({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'my-app',
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(), // without it a reload signs the user out
})

async function start(): Promise<void> {
  const { status } = await auth.ready() // finishes a login when this page is its callback
  if (status !== 'signed-in') return auth.signIn() // leaves for the service, and comes back to this page
  const headers = { 'content-type': 'application/json' }
  const response = await auth.fetch('/api/llm_models/search', { method: 'POST', headers, body: '{}' })
  document.body.textContent = await response.text()
}

start().catch((error: unknown) => {
  document.body.textContent = String(error) // says what is wrong; offer a sign-in button here
})
