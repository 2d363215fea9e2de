import {
  type AuthConfig,
  type AuthEvent,
  createAuthConfig,
  createSession,
  type Session,
  type TokenStorage,
} from 'agent-auth'
import { secret } from './canary.ts'

export interface OneSession {
  readonly config: AuthConfig
  readonly session: Session
}

export const baseUrl = 'https://api.example.com'

/** Makes a session whose token endpoint gives new tokens, or the answer of the test. */
export function setUp(
  options: { storage?: TokenStorage; answer?: () => Response; onEvent?: (event: AuthEvent) => void } = {},
): OneSession {
  const config = createAuthConfig({
    authUrl: 'https://auth.example.com',
    baseUrl,
    clientId: 'app',
    redirectUri: 'https://app.example.com/callback',
    timeoutMs: 60_000,
    fetch: async () =>
      options.answer?.() ?? Response.json({ access_token: secret('access token'), refresh_token: secret('refresh') }),
    onEvent: options.onEvent,
  })
  return { config, session: createSession(config, { storage: options.storage }) }
}

export const tokens = (): { accessToken: string; refreshToken: string; obtainedAtMs: number } => ({
  accessToken: secret('access'),
  refreshToken: secret('refresh'),
  obtainedAtMs: Date.now(),
})

/** Resolves when everything has run that can. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
