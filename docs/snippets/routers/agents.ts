/** How many agents the signed-in user may see. */
export async function countAgents(fetch: typeof globalThis.fetch): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch('/api/parent_agents/search', { method: 'POST', headers, body: '{"limit":1,"offset":0}' })
  if (!response.ok) throw new Error(`The search failed with ${response.status}.`)
  const { data } = (await response.json()) as { data: { count: number } }
  return data.count
}
