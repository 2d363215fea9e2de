import { memoryStorage } from 'agent-auth'
import { createAgentApi } from 'agent-auth/api'
import { type Backend, createBackend, type SessionSource } from 'agent-auth/backend'

const { PORT = '3000', AGENT_BASE_URL: baseUrl = '', ...env } = process.env

// On globalThis, because a bundler may load this module more than once.
const shared = globalThis as { backend?: Backend }

/** Creates the backend with the first request, because a build loads this module without the variables. */
export function theBackend(): Backend {
  shared.backend ??= createBackend({
    authUrl: env.AGENT_AUTH_URL ?? '',
    baseUrl,
    clientId: env.AGENT_CLIENT_ID ?? '',
    clientSecret: env.AGENT_CLIENT_SECRET,
    redirectUri: `http://127.0.0.1:${PORT}/auth/callback`,
    sessions: memoryStorage(), // for one process
    secrets: (env.COOKIE_SECRET ?? '').split(','),
    proxy: ['POST /api/llm_models/search'], // what pages may call
  })
  return shared.backend
}

/** Asks the API as the user of this request. Returns undefined if none is signed in. */
export async function countModels(request: SessionSource): Promise<string | undefined> {
  const session = await theBackend().getSession(request)
  if (!session.signedIn) return undefined
  const api = createAgentApi({ baseUrl, fetch: session.fetch })
  const { count } = await api.llmModels.search({ limit: 1, offset: 0 })
  return `${count} models`
}
