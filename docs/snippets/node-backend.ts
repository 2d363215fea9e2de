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
  proxy: ['POST /api/parent_agents/search', 'GET /api/parent_agents/:id'],
  // What failed and why, without secrets.
  onEvent: (event) => process.stderr.write(`${JSON.stringify(event)}\n`),
})
