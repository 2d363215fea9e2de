import { auth } from './auth'

const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"limit":1,"offset":0}' }

/** Asks the API with the token of the user. */
export async function countModels(): Promise<string> {
  const response = await auth.fetch('/api/llm_models/search', request)
  if (!response.ok) return `The API responded with ${response.status}.`
  const { data } = (await response.json()) as { data: { count: number } }
  return `${data.count} models`
}
