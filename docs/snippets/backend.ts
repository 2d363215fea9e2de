import { serve } from '@hono/node-server'
import { memoryStorage } from 'agent-auth'
import { createBackend } from 'agent-auth/backend'

const backend = createBackend({
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'my-backend',
  clientSecret: process.env.AGENT_CLIENT_SECRET,
  redirectUri: 'https://app.example.com/auth/callback',
  sessions: memoryStorage(), // for one process; see storages
  secrets: [process.env.COOKIE_SECRET ?? ''], // at least 32 characters: openssl rand -base64 32
  proxy: ['POST /api/parent_agents/search'], // what the page may call, at the same path
  onEvent: (event) => process.stderr.write(`${JSON.stringify(event)}\n`), // what failed and why, without secrets
})

serve({ port: 3000, fetch: async (request) => (await backend.handle(request)) ?? page(request) })

async function page(request: Request): Promise<Response> {
  const { status } = await backend.getSession(request)
  const text = status === 'signed-out' ? '<a href="/auth/login?return_to=/">Sign in</a>' : 'Welcome'
  return new Response(text, { headers: { 'content-type': 'text/html', 'cache-control': 'no-store', vary: 'Cookie' } })
}
