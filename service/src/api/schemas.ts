import * as z from 'zod'

/** The schemas of all responses. The OpenAPI document is generated from them, and contract tests check responses against it. */

const memoryExpiration = z.strictObject({
  thread_ttl_hours: z.int(),
  agent_ttl_days: z.int(),
  tenant_ttl_days: z.int(),
  clear_thread_on_conversation_end: z.boolean(),
})

export const agentConfigs = z.strictObject({
  last_agent_in_group: z.string(),
  max_rounds: z.string().meta({ description: 'A number as text' }),
  temperature: z.number(),
  max_messages: z.string().meta({ description: 'A number as text' }),
  continue_with_last_agent: z.boolean(),
  memory_expiration: memoryExpiration,
})

export const parentAgent = z.strictObject({
  id: z.int(),
  parent_agent_type: z.string().meta({ description: 'Human-readable type' }),
  parent_agent_type_key: z.string(),
  agent_key: z.string().meta({ description: 'agent_name with spaces as underscores, in lower case' }),
  agent_name: z.string(),
  full_display_name: z.string(),
  tenant: z.string().meta({ description: 'Owning tenant' }),
  display_name: z.string(),
  description: z.string(),
  configs: agentConfigs,
  llm_model: z.int().meta({ description: 'Identifier of the assigned LLM model' }),
  llm_model_name: z.string(),
  active: z.boolean(),
  state_function: z.array(z.record(z.string(), z.unknown())),
  created_at: z.string().meta({ format: 'date-time' }),
})

/** A parent agent in a response, with the members of specification 2.2. */
export type ParentAgent = z.infer<typeof parentAgent>

export const llmModel = z.strictObject({
  id: z.int(),
  model_name: z.string(),
  model_version: z.string(),
  provider: z.string(),
})

export const contextVariable = z.looseObject({
  path: z.string().optional().meta({ default: '' }),
  type: z.string().optional().meta({ default: 'any' }),
  description: z.string().optional().meta({ default: '' }),
  full_var: z.string().meta({ description: 'Jinja expression' }),
  insert_value: z.string(),
})

export const contextVariableGroup = z.looseObject({
  key: z.string(),
  tool_key: z.string(),
  tool_name: z.string(),
  display_name: z.string(),
  tool_id: z.string(),
  source_type: z.string(),
  variables: z.array(contextVariable).optional(),
  output_schema: z.record(z.string(), z.unknown()).nullable().optional(),
})

/** A group of context variables in a response (specification 2.5 and 2.6). */
export type ContextVariableGroup = z.infer<typeof contextVariableGroup>

function envelope(data: z.ZodType) {
  return z.strictObject({
    success: z.boolean(),
    data,
    error_type: z.string().nullable().optional(),
    error_message: z.string().nullable().optional(),
  })
}

export const contextVariablesFound = envelope(
  z.strictObject({ context_variables: z.array(contextVariableGroup).optional() }),
)
export const parentAgentsFound = envelope(z.strictObject({ items: z.array(parentAgent), count: z.int().min(0) }))
export const parentAgentCreated = envelope(z.strictObject({ items: z.array(parentAgent) }))
export const llmModelsFound = envelope(z.strictObject({ items: z.array(llmModel), count: z.int().min(0) }))
export const refusal = envelope(z.strictObject({}))

export const validationItem = z.strictObject({
  loc: z.array(z.union([z.string(), z.int()])),
  msg: z.string(),
  type: z.string(),
  input: z.unknown().optional(),
  ctx: z.record(z.string(), z.unknown()).optional(),
})

export const validationError = z.strictObject({ detail: z.array(validationItem) })
