import { memoryStorage } from 'agent-auth'
import { type Backend, createBackend } from 'agent-auth/backend'

export const backend: Backend = createBackend({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'my-backend',
  clientSecret: process.env.AGENT_CLIENT_SECRET,
  redirectUri: 'https://app.example.com/auth/callback',
  sessions: memoryStorage(), // one process; several need a storage they share
  secrets: [process.env.COOKIE_SECRET ?? ''],
  proxy: ['POST /api/parent_agents/search', 'GET /api/parent_agents/:id/state_function/context_variables'],
  onEvent: (event) => process.stderr.write(`${JSON.stringify(event)}\n`), // what failed and why, without secrets
})

export async function serve(request: Request): Promise<Response> {
  return (await backend.handle(request)) ?? page(request)
}

async function page(request: Request): Promise<Response> {
  const session = await backend.getSession(request)
  if (session.status === 'signed-out') return new Response('<a href="/auth/login?return_to=/">Sign in</a>', html)
  const body = JSON.stringify({ limit: 10, offset: 0 })
  const headers = { 'content-type': 'application/json' }
  const answered = await session.fetch('/api/llm_models/search', { method: 'POST', headers, body })
  return new Response(`<p>The API answered ${answered.status}.</p>`, html)
}

const html = { headers: { 'content-type': 'text/html', 'cache-control': 'no-store', vary: 'Cookie' } }
