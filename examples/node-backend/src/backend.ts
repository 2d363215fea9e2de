import type { TokenStorage } from 'agent-auth'
import { type Backend, createBackend } from 'agent-auth/backend'
import type { Settings } from './settings.js'

/** Creates the backend of this example. */
export function exampleBackend(settings: Settings, sessions: TokenStorage): Backend {
  const { authUrl, baseUrl, tokenEndpoint, allowHttpHosts, clientId, clientSecret, origin, cookieSecrets } = settings
  return createBackend({
    authUrl,
    baseUrl,
    tokenEndpoint,
    allowHttpHosts,
    clientId,
    clientSecret,
    redirectUri: `${origin}/auth/callback`,
    sessions,
    secrets: cookieSecrets,
    proxy: ['POST /api/parent_agents/search', 'POST /api/parent_agents'],
  })
}
