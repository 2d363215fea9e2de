import { createServer } from 'node:http'
import {
  type AuthConfig,
  createAuthConfig,
  createBearerFetch,
  createSession,
  exchangeCode,
  isAgentAuthError,
  readCallback,
  startLogin,
} from 'agent-auth'
import { createAgentApi, isAgentApiError } from 'agent-auth/api'
import { createBackend } from 'agent-auth/backend'
import { toNodeHandler } from 'agent-auth/backend/node'
import { fileStorage, signInWithLoopback } from 'agent-auth/node'
import { createTelemetry } from 'agent-auth/opentelemetry'
import { postgresStorage } from 'agent-auth/postgres'
import { redisStorage } from 'agent-auth/redis'
import { storageSuite, testService } from 'agent-auth/testing'
import { startService } from 'agent-service'

export const config: AuthConfig = createAuthConfig({
  authUrl: 'https://auth.demo.example',
  baseUrl: 'https://api.demo.example',
  clientId: 'client',
  clientSecret: undefined,
  redirectUri: 'https://app.demo.example/callback',
})

export async function login(callback: string): Promise<number> {
  const { pending } = await startLogin(config)
  const session = createSession(config, { storage: fileStorage('/var/lib/app/session.json') })
  await session.signIn(await exchangeCode(config, readCallback(pending, callback)))
  const api = createAgentApi({
    baseUrl: config.baseUrl,
    fetch: createBearerFetch(session, { baseUrl: config.baseUrl }),
  })
  try {
    const { items } = await api.parentAgents.search({ limit: 5 })
    return items.length
  } catch (error) {
    if (isAgentAuthError(error) && error.code === 'login_required') return 0
    throw error
  }
}

export const used = { createBackend, createServer, createTelemetry, isAgentApiError, postgresStorage, redisStorage }
export const more = { signInWithLoopback, startService, storageSuite, testService, toNodeHandler }
