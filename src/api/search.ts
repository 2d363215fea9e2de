import { checkNames, invalid } from '../internal/values.ts'

/** The columns by which parent agents can be filtered and sorted. Specification section 4.2. */
export type ParentAgentColumn =
  | 'active'
  | 'agent_key'
  | 'agent_name'
  | 'id'
  | 'llm_model'
  | 'parent_agent_type_key'
  | 'tenant'

/** The columns by which LLM models can be filtered and sorted. Specification section 4.4. */
export type LlmModelColumn = 'id' | 'model_name' | 'model_version' | 'provider'

/** One condition on a column. */
export interface Filter<Column extends string> {
  /** The column that is compared. */
  readonly column: Column
  /** The specification shows `equals` and leaves room for others. */
  readonly operator: 'equals' | (string & {})
  /** What the column is compared with. */
  readonly value: unknown
}

/** Several filters joined. The specification does not show the structure, so any members but `column` are accepted. */
export interface FilterGroup {
  /** Absent: a group has no column of its own. */
  readonly column?: undefined
  readonly [member: string]: unknown
}

/** The order of the rows. */
export interface Sort<Column extends string> {
  /** The column that decides. */
  readonly column: Column
  /** Whether the largest value comes first. */
  readonly desc: boolean
}

/** What both searches take. The specification does not show which members are required, nor their defaults. */
export interface SearchOptions<Column extends string> {
  /** Rows of a page, from 1 to `maxPageRows`, 250. Default: what the service says, and for `searchAll` the most. */
  readonly limit?: number | undefined
  /** Rows to skip. Default: none. */
  readonly offset?: number | undefined
  /** Text to search for. */
  readonly search_value?: string | undefined
  /** Conditions. */
  readonly filters?: readonly (Filter<Column> | FilterGroup)[] | undefined
  /** The order of the rows. */
  readonly sort?: Sort<Column> | undefined
}

/** A search of parent agents. */
export interface ParentAgentSearch extends SearchOptions<ParentAgentColumn> {
  /** Only agents that are on, or off. It becomes a filter on the column `active`. */
  readonly active?: boolean | undefined
}

/** A search of LLM models. */
export interface LlmModelSearch extends SearchOptions<LlmModelColumn> {
  /** Only models of this provider. It becomes a filter on the column `provider`. */
  readonly provider?: string | undefined
}

const searchNames: readonly string[] = ['limit', 'offset', 'search_value', 'filters', 'sort']

/**
 * Returns a copy of a search that has the shorthand for a column. Throws `config_invalid` for a member that is unknown, and for one that
 * a page cannot be counted or a body cannot be made with. What `filters` hold stays unchecked, because the specification leaves
 * operators and groups open.
 */
export function checkSearch<Search extends SearchOptions<string>>(search: Search, column: string): Search {
  const own = checkNames('a search', search, [...searchNames, column])
  const { limit = 0, offset = 0, filters = [], sort } = own
  if (typeof limit !== 'number' || typeof offset !== 'number') invalid('limit and offset must be numbers')
  if (!Array.isArray(filters)) invalid('filters must be a list')
  if (sort !== undefined) checkNames('sort', sort, ['column', 'desc'])
  return own
}

/** Returns the body of a search, in which the member named after a column has become a filter. */
export function searchBody<Search extends SearchOptions<string>>(
  search: Search,
  column: keyof Search & string,
): object {
  const { [column]: value, ...body } = search
  if (value === undefined) return body
  const { filters = [] } = search
  return { ...body, filters: [...filters, { column, operator: 'equals', value }] }
}
