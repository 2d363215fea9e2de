import { createBearerFetch, type Session } from 'agent-auth'
import createClient, { type Client } from 'openapi-fetch'
import type { paths } from './agent-api.ts' // written by openapi-typescript

/** Sends with the token of the session, and only to the API. */
export function openApiClient(session: Session, baseUrl: string): Client<paths> {
  return createClient<paths>({ baseUrl, fetch: createBearerFetch(session, { baseUrl }) })
}

/** The envelope is yours to check: the client takes `success: false` with status 200 for a success. */
export async function modelNames(api: Client<paths>): Promise<string[]> {
  const { data: envelope } = await api.POST('/api/llm_models/search', { body: { limit: 50, offset: 0 } })
  if (!envelope?.success) throw new Error('The search failed.')
  return envelope.data.items.map(({ model_name }) => model_name)
}
