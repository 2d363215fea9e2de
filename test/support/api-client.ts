import {
  createAuthConfig,
  createBearerFetch,
  createSession,
  exchangeCode,
  readCallback,
  type Session,
  startLogin,
} from 'agent-auth'
import {
  type AgentApi,
  type AgentApiError,
  type AgentApiOptions,
  createAgentApi,
  isAgentApiError,
} from 'agent-auth/api'
import type { Service } from 'agent-service'
import { onTestFinished } from 'vitest'
import { clientOf, personOf } from '../../service/test/support/login.ts'
import { registerSecret, secret } from './canary.ts'
import { failure } from './token-flow.ts'
import { type Script, startWire, type Wire } from './wire.ts'

/** A client of a scripted server on a real socket, with a bearer token that no error may show. */
export async function wiredApi(
  script: Script,
  options: Partial<AgentApiOptions> = {},
): Promise<{ api: AgentApi; wire: Wire; token: string }> {
  const wire = await startWire(script)
  onTestFinished(() => wire.close())
  const token = secret('access token')
  const baseUrl = wire.url
  return { api: createAgentApi({ baseUrl, fetch: createBearerFetch(token, { baseUrl }), ...options }), wire, token }
}

/** The error of the API client with which a call fails. */
export async function apiFailure(call: Promise<unknown>): Promise<AgentApiError> {
  const error = await failure(call)
  if (!isAgentApiError(error)) throw error
  return error
}

/** The envelope of a success. Specification section 2.1. */
export function envelope(data: object): object {
  return { success: true, data, error_type: null, error_message: null }
}

/** A session of a user of agent-service, with a refresh token. */
export async function sessionAt(service: Service, name: string): Promise<Session> {
  const { authUrl, baseUrl, fetch } = service
  service.dev.autoApprove(personOf(service, name).email)
  const { clientId } = clientOf(service, 'Demo public')
  const redirectUri = 'https://app.demo.example/callback'
  const config = createAuthConfig({ authUrl, baseUrl, clientId, redirectUri, fetch })
  const { url, pending } = await startLogin(config)
  const redirect = await fetch(url, { redirect: 'manual' })
  const session = createSession(config)
  await session.signIn(await exchangeCode(config, readCallback(pending, redirect.headers.get('location') ?? '')))
  registerSecret(`access token of ${name}`, await session.getAccessToken())
  return session
}
