/** What the API has to answer, said once more and without a database: one list of agents per tenant. */

export interface OracleAgent {
  id: number
  tenant: string
  agent_key: string
  agent_name: string
  display_name: string
  description: string
  parent_agent_type_key: string
  llm_model: number
  active: boolean
}

export type OracleFilter =
  | { column: string; operator: 'equals'; value: unknown }
  | { operator: 'and' | 'or'; filters: OracleFilter[] }

export interface OracleSearch {
  limit: number
  offset: number
  search_value?: string
  active?: boolean
  filters: OracleFilter[]
  sort: { column: string; desc: boolean }[]
}

export interface Oracle {
  add(agent: OracleAgent): void
  all(): OracleAgent[]
  of(tenant: string): OracleAgent[]
  search(tenant: string, search: OracleSearch): { ids: number[]; count: number }
}

export function createOracle(): Oracle {
  const agents: OracleAgent[] = []
  const of = (tenant: string): OracleAgent[] => agents.filter((agent) => agent.tenant === tenant)
  return {
    add: (agent) => void agents.push(agent),
    all: () => agents,
    of,
    search(tenant, search) {
      const hits = of(tenant).filter((agent) => isHit(agent, search))
      hits.sort((left, right) => compare(left, right, search.sort))
      const ids = hits.slice(search.offset, search.offset + search.limit).map(({ id }) => id)
      return { ids, count: hits.length }
    },
  }
}

function isHit(agent: OracleAgent, { search_value: text, active, filters }: OracleSearch): boolean {
  const fields = [agent.agent_name, agent.agent_key, agent.display_name, agent.description]
  if (text && !fields.some((field) => field.toLowerCase().includes(text.toLowerCase()))) return false
  if (active !== undefined && agent.active !== active) return false
  return filters.every((filter) => holds(agent, filter))
}

function holds(agent: OracleAgent, filter: OracleFilter): boolean {
  if ('column' in filter) return agent[filter.column as keyof OracleAgent] === filter.value
  const parts = filter.filters.map((part) => holds(agent, part))
  return filter.operator === 'and' ? parts.every(Boolean) : parts.some(Boolean)
}

function compare(left: OracleAgent, right: OracleAgent, sort: OracleSearch['sort']): number {
  for (const { column, desc } of sort) {
    const order = compareValues(left[column as keyof OracleAgent], right[column as keyof OracleAgent])
    if (order !== 0) return desc ? -order : order
  }
  return left.id - right.id
}

/** Texts by their bytes, which is the order of code points. */
function compareValues(left: string | number | boolean, right: string | number | boolean): number {
  if (typeof left === 'string') return Buffer.compare(Buffer.from(left), Buffer.from(String(right)))
  return Number(left) - Number(right)
}
