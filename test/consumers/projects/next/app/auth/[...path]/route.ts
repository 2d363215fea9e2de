import { memoryStorage } from 'agent-auth'
import { type Backend, createBackend } from 'agent-auth/backend'

let backend: Backend | undefined

/** `next build` has no settings, so the backend is created at the first request. */
async function handle(request: Request): Promise<Response> {
  backend ??= createBackend({
    authUrl: process.env.AGENT_AUTH_URL ?? '',
    baseUrl: process.env.AGENT_BASE_URL ?? '',
    clientId: process.env.AGENT_CLIENT_ID ?? '',
    clientSecret: process.env.AGENT_CLIENT_SECRET,
    redirectUri: process.env.AGENT_REDIRECT_URI ?? '',
    sessions: memoryStorage(),
    secrets: [process.env.COOKIE_SECRET ?? ''],
    proxy: ['POST /api/parent_agents/search'],
  })
  return (await backend.handle(request)) ?? new Response('Not found', { status: 404 })
}

export { handle as GET, handle as POST }
