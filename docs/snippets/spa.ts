import { createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'

const auth = createBrowserAuth({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'my-app',
  redirectUri: `${location.origin}/callback`,
  storage: indexedDbStorage(), // without it the login lives in this page's memory
})

// Finishes a login when this page is its callback. Rejects when that failed: show error.message and a sign-in button.
const { status } = await auth.ready()
if (status !== 'signed-in') {
  await auth.signIn() // leaves for the service, and comes back to this page
} else {
  const headers = { 'content-type': 'application/json' }
  const response = await auth.fetch('/api/llm_models/search', { method: 'POST', headers, body: '{}' })
  document.body.textContent = await response.text()
}
