export {
  type AgentApi,
  type ApiMethod,
  createAgentApi,
  type Searches,
} from './api.ts'
export {
  AgentApiError,
  type AgentApiErrorCode,
  type AgentApiErrorOptions,
  isAgentApiError,
  type ReceivedResponse,
  type ValidationFault,
} from './error.ts'
export type { AgentApiOptions, CallLimits, CallOptions, SearchAllOptions } from './options.ts'
export type {
  AgentConfigs,
  ContextVariable,
  ContextVariableGroup,
  ContextVariables,
  CreatedParentAgents,
  Found,
  LlmModel,
  MemoryExpiration,
  NewParentAgent,
  ParentAgent,
} from './resources.ts'
export type {
  Filter,
  FilterGroup,
  LlmModelColumn,
  LlmModelSearch,
  ParentAgentColumn,
  ParentAgentSearch,
  SearchOptions,
  Sort,
} from './search.ts'
export type { AllRows } from './search-all.ts'
