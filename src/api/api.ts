import { invalid } from '../internal/values.ts'
import { type ApiCall, callApi } from './call.ts'
import {
  type AgentApiOptions,
  type ApiConfig,
  type CallOptions,
  checkSearchAll,
  createApiConfig,
  type SearchAllOptions,
} from './options.ts'
import type {
  ContextVariables,
  CreatedParentAgents,
  Found,
  LlmModel,
  NewParentAgent,
  ParentAgent,
} from './resources.ts'
import { checkSearch, type LlmModelSearch, type ParentAgentSearch, type SearchOptions, searchBody } from './search.ts'
import { type AllRows, allRows, type LoadPage } from './search-all.ts'

/** The rows of a page at most. Specification section 8. */
const maxPageRows = 250

/** A method of a request of your own. */
export type ApiMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The searches of one kind of rows. */
export interface Searches<Row, Search> {
  /** Resolves to one page. It is sent again if the API is busy or could not be reached. */
  search(search?: Search, options?: CallOptions): Promise<Found<Row>>
  /**
   * Returns all rows, sorted by `id` unless you sort them, page by page. `limit` is the
   * size of a page, 250 by default. If rows are added or removed meanwhile, a row may be missed or come twice.
   */
  searchAll(search?: Search, options?: SearchAllOptions): AllRows<Row>
}

/**
 * The endpoints of the specification. Each call resolves to the `data` of the envelope and rejects with an
 * `AgentApiError`, with `aborted`, with `config_invalid`, or with what the given `fetch` rejects with.
 */
export interface AgentApi {
  /** Parent agents. Specification sections 4.1 to 4.3. */
  readonly parentAgents: Searches<ParentAgent, ParentAgentSearch> & {
    /**
     * Creates an agent. It is sent once. If no response comes, the agent may have been created.
     * A field that no creation has, such as `name`, is sent and the service ignores it.
     */
    create(agent: NewParentAgent, options?: CallOptions): Promise<CreatedParentAgents>
    /** Resolves to the variables that the state function of an agent can use. */
    contextVariables(parentAgentId: number, options?: CallOptions): Promise<ContextVariables>
  }
  /** LLM models. Specification section 4.4. */
  readonly llmModels: Searches<LlmModel, LlmModelSearch>
  /**
   * Sends a request to an endpoint that the specification only names. `path` starts with a slash and stays under
   * `baseUrl`. The type of the result is yours to know: only the envelope is checked. Only `GET` is sent again.
   */
  request<T extends object = Record<string, unknown>>(
    method: ApiMethod,
    path: string,
    body?: unknown,
    options?: CallOptions,
  ): Promise<T>
}

/** Returns a typed client of the API, over a `fetch` that adds the bearer header. Throws `config_invalid`. */
export function createAgentApi(options: AgentApiOptions): AgentApi {
  const config = createApiConfig(options)
  const parentAgents: AgentApi['parentAgents'] = {
    ...searches<ParentAgent, ParentAgentSearch>(config, '/api/parent_agents/search', 'active'),
    async create(body, options) {
      if (!body || typeof body !== 'object') invalid('create needs an object with agent_name')
      const call: ApiCall = { method: 'POST', path: '/api/parent_agents', body, effect: 'write', matches: hasItems }
      return callApi(config, call, options)
    },
    async contextVariables(id, options) {
      if (!Number.isSafeInteger(id)) invalid('the id must be a whole number')
      const path = `/api/parent_agents/${id}/state_function/context_variables`
      return callApi(config, { method: 'GET', path, effect: 'read', matches: hasContextVariables }, options)
    },
  }
  return Object.freeze({
    parentAgents,
    llmModels: searches<LlmModel, LlmModelSearch>(config, '/api/llm_models/search', 'provider'),
    async request<T extends object>(method: ApiMethod, path: string, body?: unknown, options?: CallOptions) {
      const effect = method === 'GET' ? 'read' : 'write'
      return callApi<T>(config, { method, path, body, effect, matches: () => true }, options)
    },
  })
}

function searches<Row extends { id: number }, Search extends SearchOptions<string>>(
  config: ApiConfig,
  path: string,
  column: keyof Search & string,
): Searches<Row, Search> {
  const searchPage = async (search = {} as Search, options?: CallOptions): Promise<Found<Row>> => {
    const body = searchBody(checkSearch(search, column), column)
    return callApi(config, { method: 'POST', path, body, effect: 'read', matches: isFound }, options)
  }
  return {
    search: searchPage,
    searchAll(search = {} as Search, given = {}) {
      const { maxRows = Number.POSITIVE_INFINITY, ...options } = checkSearchAll(given)
      const all = checkSearch(search, column)
      const { limit = maxPageRows, offset = 0, sort = { column: 'id', desc: false } } = all
      const load: LoadPage<Row> = (page) => searchPage({ ...all, ...page, sort }, options)
      return allRows(load, { limit, offset, maxRows, signal: options.signal })
    },
  }
}

type Data = Readonly<Record<string, unknown>>

/** Returns whether `data` is that of a search. Paging depends on `count` and on the `id` of each row. */
function isFound(data: Data): boolean {
  return hasItems(data) && Number.isSafeInteger(data.count)
}

/** Returns whether `data` has rows, each with an `id`. */
function hasItems({ items }: Data): boolean {
  return Array.isArray(items) && items.every((row: unknown) => Number.isSafeInteger(Object(row).id))
}

/** Returns whether `data` is that of the context variables, which may leave them out. */
function hasContextVariables({ context_variables: groups }: Data): boolean {
  return groups === undefined || (Array.isArray(groups) && groups.every((group) => Object(group) === group))
}
