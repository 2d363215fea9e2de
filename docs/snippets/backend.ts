import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { memoryStorage } from 'agent-auth'
import { createBackend } from 'agent-auth/backend'
import { toNodeHandler } from 'agent-auth/backend/node'

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

const handle = toNodeHandler(backend)
createServer((request, response) => handle(request, response, () => page(request, response))).listen(3000)

async function page(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status } = await backend.getSession(request)
  const isSignedIn = status === 'signed-in' || status === 'needs_refresh'
  const text = isSignedIn ? 'Welcome' : '<a href="/auth/login?return_to=/">Sign in</a>'
  response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-store', vary: 'Cookie' }).end(text)
}
