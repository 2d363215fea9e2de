import * as z from 'zod'
import { createParentAgentBody } from '../api/create-parent-agent.ts'
import {
  agentConfigs,
  contextVariable,
  contextVariableGroup,
  contextVariablesAnswer,
  llmModel,
  llmModelsFound,
  parentAgent,
  parentAgentCreated,
  parentAgentsFound,
  refusal,
  validationError,
  validationItem,
} from '../api/schemas.ts'
import { llmModelSearchBody } from '../api/search-llm-models.ts'
import { parentAgentSearchBody } from '../api/search-parent-agents.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

const requests: Record<string, z.ZodType> = {
  ParentAgentSearch: parentAgentSearchBody,
  ParentAgentCreate: createParentAgentBody,
  LlmModelSearch: llmModelSearchBody,
}

const answers: Record<string, z.ZodType> = {
  ContextVariablesAnswer: contextVariablesAnswer,
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

/** The document's components: bodies as they may be sent, answers as they go out. */
export function componentSchemas(): Record<string, JsonSchema> {
  return { ...generate(requests, 'input'), ...generate(answers, 'output') }
}

export function referenceTo(schema: z.ZodType): JsonSchema {
  const named = Object.entries({ ...requests, ...answers }).find(([, known]) => known === schema)
  if (named === undefined) throw new Error('an endpoint uses a schema that has no name in the document')
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

/** Zod writes out the range of a JavaScript integer, which says nothing to a reader. */
function dropSafeBounds({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}

function uriOf(id: string): string {
  return `#/components/schemas/${id}`
}
