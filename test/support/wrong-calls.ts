import { memoryStorage } from 'agent-auth'
import { type Backend, createBackend } from 'agent-auth/backend'

/** The error that a wrong call is rejected with. */
export function invalid(what: string): object {
  return { code: 'config_invalid', message: `Configuration: ${what}.` }
}

/** Makes a backend whose options are right but for these. */
export function backendWith(more: object): Backend {
  return createBackend({
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: 'https://app.example.com/auth/callback',
    sessions: memoryStorage(),
    secrets: ['a cookie secret of more than 32 letters'],
    ...more,
  })
}
