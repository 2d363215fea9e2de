/** A parent agent. Specification section 2.2. */
export interface ParentAgent {
  /** Identifier. */
  id: number
  /** Human-readable type. */
  parent_agent_type: string
  /** Key of the type. */
  parent_agent_type_key: string
  /** The name with spaces as underscores, in lower case. */
  agent_key: string
  /** Human-readable name. */
  agent_name: string
  /** Name for display. The specification does not say how it is formed. */
  full_display_name: string
  /** The tenant that owns the agent. */
  tenant: string
  /** Name for display. */
  display_name: string
  /** What the agent should accomplish. */
  description: string
  /** Settings of the agent. */
  configs: AgentConfigs
  /** Identifier of the assigned LLM model. */
  llm_model: number
  /** Name of the assigned LLM model. */
  llm_model_name: string
  /** Whether the agent is on. */
  active: boolean
  /** Entries of the state function. The specification does not show the shape of an entry. */
  state_function: Record<string, unknown>[]
  /** Creation time. The specification does not show the format. */
  created_at: string
}

/** The settings of a parent agent. Specification section 2.3. */
export interface AgentConfigs {
  /** The agent that acts last in a group. */
  last_agent_in_group: string
  /** A number as text. */
  max_rounds: string
  /** Sampling temperature of the model. */
  temperature: number
  /** A number as text. */
  max_messages: string
  /** Whether a conversation continues with the agent that acted last. */
  continue_with_last_agent: boolean
  /** How long memory is kept. */
  memory_expiration: MemoryExpiration
}

/** How long an agent keeps its memory. Specification section 2.3. */
export interface MemoryExpiration {
  /** Life of a thread, in hours. */
  thread_ttl_hours: number
  /** Life of an agent's memory, in days. */
  agent_ttl_days: number
  /** Life of a tenant's memory, in days. */
  tenant_ttl_days: number
  /** Whether the end of a conversation clears its thread. */
  clear_thread_on_conversation_end: boolean
}

/** A model that can be assigned to agents. Specification section 2.4. */
export interface LlmModel {
  /** Identifier. */
  id: number
  /** Name of the model. */
  model_name: string
  /** Version of the model. */
  model_version: string
  /** Who provides the model. */
  provider: string
}

/** A source of variables for a state function. The service may add members. Specification section 2.5. */
export interface ContextVariableGroup {
  /** Unique key of the source. */
  key: string
  /** Key that references to a tool's output use. */
  tool_key: string
  /** Display name of the tool. */
  tool_name: string
  /** Human-readable name of the source. */
  display_name: string
  /** Identifier of the tool or source. */
  tool_id: string
  /** Type of the source, for example `tool`, `sub_agent`, `runtime_input`, `trigger` or `loop`. */
  source_type: string
  /** The variables of this source. */
  variables?: ContextVariable[] | undefined
  /** JSON schema of the source's output. */
  output_schema?: Record<string, unknown> | null | undefined
  [member: string]: unknown
}

/** A variable that a state function can use. The service may add members. Specification section 2.6. */
export interface ContextVariable {
  /** Path within the source's output. Default of the service: empty. */
  path?: string | undefined
  /** Type of the value. Default of the service: `any`. */
  type?: string | undefined
  /** Default of the service: empty. */
  description?: string | undefined
  /** Jinja expression that references the variable. */
  full_var: string
  /** Raw path for state-function expressions. */
  insert_value: string
  [member: string]: unknown
}

/** The `data` of a search. Specification sections 4.2 and 4.4. */
export interface Found<Row> {
  /** The rows of this page. */
  items: Row[]
  /** How many rows the search has. */
  count: number
}

/** The `data` of a creation. Specification section 4.3. */
export interface CreatedParentAgents {
  /** What was created. */
  items: ParentAgent[]
}

/** The `data` of the context variables of a parent agent. Specification section 4.1. */
export interface ContextVariables {
  /** The sources of variables. The service may leave the member out. */
  context_variables?: ContextVariableGroup[] | undefined
}

/** The fields of a new parent agent. Give one of the two type fields, or both. Specification section 4.3. */
export type NewParentAgent = {
  /** At least one character. The `agent_key` is derived from it. */
  readonly agent_name: string
  /** What the agent should accomplish. At least one character. */
  readonly description: string
  /** Whether the agent is on. The specification does not show the default. */
  readonly active?: boolean | undefined
} & (
  | {
      /** Key of the type. At least one character. */
      readonly parent_agent_type_key: string
      /** Human-readable type. At least one character. */
      readonly parent_agent_type?: string | undefined
    }
  | {
      /** Key of the type. At least one character. */
      readonly parent_agent_type_key?: undefined
      /** Human-readable type. At least one character. */
      readonly parent_agent_type: string
    }
)
