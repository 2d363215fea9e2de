import type * as Api from 'agent-auth/api'
// Written by the test, from the schemas of agent-service.
import type * as Service from './service-types.ts'

/** The names of the members that are declared one by one. */
type Named<T> = keyof { [K in keyof T as string extends K ? never : number extends K ? never : K]: K }
type Optional<T> = { [K in Named<T>]-?: undefined extends T[K] ? 'optional' : 'required' }
type Extends<A, B> = [A] extends [B] ? 'yes' : 'no'
/** Each can stand for the other, and both have the same members, of which the same are optional. */
type Same<A, B> = [Extends<A, B>, Extends<B, A>, Extends<Optional<A>, Optional<B>>, Extends<Optional<B>, Optional<A>>]
type Yes = ['yes', 'yes', 'yes', 'yes']
type Writable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] | undefined ? E[] : T[K] }
type Item<T> = NonNullable<T> extends readonly (infer E)[] ? E : never
type FilterOf<Search extends { filters?: unknown }> = Extract<Item<Search['filters']>, { column: string }>

export const responses: Record<string, Yes> = {} as {
  agent: Same<Api.ParentAgent, Service.ParentAgent>
  configs: Same<Api.AgentConfigs, Service.AgentConfigs>
  memory: Same<Api.MemoryExpiration, Service.AgentConfigs['memory_expiration']>
  model: Same<Api.LlmModel, Service.LlmModel>
  group: Same<Api.ContextVariableGroup, Service.ContextVariableGroup>
  variable: Same<Api.ContextVariable, Service.ContextVariable>
  variables: Same<Api.ContextVariables, Service.ContextVariablesAnswer['data']>
  agents: Same<Api.Found<Api.ParentAgent>, Service.ParentAgentsFound['data']>
  models: Same<Api.Found<Api.LlmModel>, Service.LlmModelsFound['data']>
  created: Same<Api.CreatedParentAgents, Service.ParentAgentCreated['data']>
  fault: Same<Writable<Api.ValidationFault>, Service.ValidationItem>
}

export const names: Record<string, ['yes', 'yes']> = {} as {
  agents: [
    Extends<keyof Api.ParentAgentSearch, keyof Service.ParentAgentSearch>,
    Extends<keyof Service.ParentAgentSearch, keyof Api.ParentAgentSearch>,
  ]
  models: [
    Extends<keyof Api.LlmModelSearch, keyof Service.LlmModelSearch>,
    Extends<keyof Service.LlmModelSearch, keyof Api.LlmModelSearch>,
  ]
  agentColumns: [
    Extends<Api.ParentAgentColumn, FilterOf<Service.ParentAgentSearch>['column']>,
    Extends<FilterOf<Service.ParentAgentSearch>['column'], Api.ParentAgentColumn>,
  ]
  modelColumns: [
    Extends<Api.LlmModelColumn, FilterOf<Service.LlmModelSearch>['column']>,
    Extends<FilterOf<Service.LlmModelSearch>['column'], Api.LlmModelColumn>,
  ]
  newAgent: [
    Extends<keyof Writable<Api.NewParentAgent>, keyof Service.ParentAgentCreate>,
    Extends<keyof Service.ParentAgentCreate, keyof Writable<Api.NewParentAgent>>,
  ]
}

type Equals<Column extends string> = Api.Filter<Column> & { operator: 'equals'; value: string }
type Sent<Search> = Omit<Search, 'filters' | 'sort'>

/** What the client sends is what the service takes. Filters are open in the client, so those of the service are compared with them, and one of text with those of the service. */
export const bodies: Record<string, 'yes'> = {} as {
  agents: Extends<Sent<Api.ParentAgentSearch>, Sent<Service.ParentAgentSearch>>
  models: Extends<Sent<Api.LlmModelSearch>, Sent<Service.LlmModelSearch>>
  agentFilter: Extends<FilterOf<Service.ParentAgentSearch>, Api.Filter<Api.ParentAgentColumn>>
  textFilter: Extends<Equals<'agent_name'>, Item<Service.ParentAgentSearch['filters']>>
  modelFilter: Extends<FilterOf<Service.LlmModelSearch>, Api.Filter<Api.LlmModelColumn>>
  agentSort: Extends<Api.Sort<Api.ParentAgentColumn>, Service.ParentAgentSearch['sort']>
  modelSort: Extends<Api.Sort<Api.LlmModelColumn>, Service.LlmModelSearch['sort']>
  newAgent: Extends<Api.NewParentAgent, Service.ParentAgentCreate>
}
