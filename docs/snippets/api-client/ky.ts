import { createBearerFetch, type Session } from 'agent-auth'
import ky, { type KyInstance } from 'ky'

/** Sends with the token of the session, and only to the API. */
export function kyOf(session: Session, baseUrl: string): KyInstance {
  return ky.create({ prefixUrl: baseUrl, fetch: createBearerFetch(session, { baseUrl }) })
}

/** The envelope is yours to check: ky takes `success: false` with status 200 for a success. */
export async function modelNames(api: KyInstance): Promise<string[]> {
  const body = { limit: 50, offset: 0 }
  const { success, data } = await api.post('api/llm_models/search', { json: body }).json<Envelope>()
  if (!success) throw new Error('The search failed.')
  return data.items.map(({ model_name }) => model_name)
}

interface Envelope {
  readonly success: boolean
  readonly data: { readonly items: readonly { readonly model_name: string }[] }
}
