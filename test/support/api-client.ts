import { createBearerFetch } from 'agent-auth'
import {
  type AgentApi,
  type AgentApiError,
  type AgentApiOptions,
  createAgentApi,
  isAgentApiError,
} from 'agent-auth/api'
import { onTestFinished } from 'vitest'
import { secret } from './canary.ts'
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
