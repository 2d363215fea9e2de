/** The fields of a parent agent that the examples show. Specification section 2.2. */
export interface Agent {
  readonly id: number
  readonly agent_name: string
  readonly agent_key: string
  readonly description: string
  readonly parent_agent_type_key: string
  readonly active: boolean
}

export interface NewAgent {
  readonly agent_name: string
  readonly description: string
  readonly parent_agent_type_key: string
  readonly active: boolean
}

export interface Found {
  readonly items: readonly Agent[]
  readonly count: number
}

/** The service answered, but not with what was asked for. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Specification section 4.2. */
export async function searchAgents(fetch: typeof globalThis.fetch, searchValue: string): Promise<Found> {
  const sort = { column: 'agent_name', desc: false }
  return post(fetch, '/api/parent_agents/search', { limit: 50, offset: 0, search_value: searchValue, sort })
}

/** Specification section 4.3. */
export async function createAgent(fetch: typeof globalThis.fetch, agent: NewAgent): Promise<void> {
  await post(fetch, '/api/parent_agents', agent)
}

async function post<T>(fetch: typeof globalThis.fetch, path: string, body: unknown): Promise<T> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = (await response.json().catch(() => ({}))) as Answer<T>
  if (!response.ok || answer.error_type || !answer.data) throw new ApiError(response.status, problem(response, answer))
  return answer.data
}

interface Answer<T> {
  readonly data?: T
  readonly error_type?: string
  readonly error_message?: string
  readonly detail?: readonly { readonly msg: string }[]
}

/** The envelope's words, or the first of a 422; what 401 and 403 look like is not promised. Specification section 7. */
function problem({ status }: Response, { error_message, detail }: Answer<unknown>): string {
  const [first] = Array.isArray(detail) ? detail : []
  return error_message || first?.msg || `The service answered with status ${status}.`
}
