import * as z from 'zod'
import { createParentAgentBody } from '../api/agents/create-parent-agent.ts'
import {
  agentConfigs,
  contextVariable,
  contextVariableGroup,
  contextVariablesFound,
  llmModel,
  llmModelsFound,
  parentAgent,
  parentAgentCreated,
  parentAgentsFound,
  refusal,
  validationError,
  validationItem,
} from '../api/schemas.ts'
import { llmModelSearchBody } from '../api/search/search-llm-models.ts'
import { parentAgentSearchBody } from '../api/search/search-parent-agents.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

const requests: Record<string, z.ZodType> = {
  ParentAgentSearch: parentAgentSearchBody,
  ParentAgentCreate: createParentAgentBody,
  LlmModelSearch: llmModelSearchBody,
}

const responses: Record<string, z.ZodType> = {
  ContextVariablesAnswer: contextVariablesFound,
  ParentAgentsFound: parentAgentsFound,
  ParentAgentCreated: parentAgentCreated,
  LlmModelsFound: llmModelsFound,
  ParentAgent: parentAgent,
  AgentConfigs: agentConfigs,
  LlmModel: llmModel,
  ContextVariableGroup: contextVariableGroup,
  ContextVariable: contextVariable,
  Refusal: refusal,
  ValidationError: validationError,
  ValidationItem: validationItem,
}

/** Returns the components of the document: the schemas of request bodies and of responses. */
export function componentSchemas(): Record<string, JsonSchema> {
  return { ...generate(requests, 'input'), ...generate(responses, 'output') }
}

export function referenceTo(schema: z.ZodType): JsonSchema {
  const named = Object.entries({ ...requests, ...responses }).find(([, known]) => known === schema)
  if (named === undefined) throw new Error('an endpoint uses a schema without a name; add it to requests or responses')
  return { $ref: uriOf(named[0]) }
}

function generate(schemas: Record<string, z.ZodType>, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id })
  const generated = z.toJSONSchema(registry, { io, uri: uriOf, override: dropSafeBounds }).schemas
  return Object.fromEntries(
    Object.entries(generated).map(([id, { $schema: _schemaVersion, $id: _id, ...schema }]) => [id, schema]),
  )
}

/** Removes the range of a JavaScript integer, which zod adds to every integer. */
function dropSafeBounds({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}

function uriOf(id: string): string {
  return `#/components/schemas/${id}`
}
