import type * as z from 'zod'
import type { EndpointId, Permission } from '../access-change.ts'
import { limits } from '../limits.ts'
import {
  contextVariablesPath,
  createParentAgent,
  createParentAgentBody,
  parentAgentSearchBody,
  readContextVariables,
  searchParentAgents,
} from './agents.ts'
import { llmModelSearchBody, searchLlmModels } from './models.ts'
import { contextVariablesFound, llmModelsFound, parentAgentCreated, parentAgentsFound } from './schemas.ts'
import type { ApiCall } from './validation.ts'

/**
 * One endpoint of specification 4, with the permission that it needs besides `api.access`, its handler and its entry in the OpenAPI
 * document.
 */
export interface Endpoint {
  method: 'GET' | 'POST'
  path: string
  /** What it needs besides `api.access`. */
  permission: Permission
  /** Endpoints that change something need a tenant whose billing is active. */
  billing: 'needed' | 'not-needed'
  /** Returns the `data` of the response. */
  respond(call: ApiCall): Promise<object>
  operation: Operation
}

export interface Operation {
  id: EndpointId
  tag: 'Parent agents' | 'Models'
  summary: string
  pathParameters?: z.ZodObject
  body?: { schema: z.ZodType; example: object }
  success: z.ZodType
  /** When the response is 409. Default: never. */
  conflict?: string
}

export const endpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/api/parent_agents/:parent_agent_id/state_function/context_variables',
    permission: 'parent_agents.read',
    billing: 'not-needed',
    respond: readContextVariables,
    operation: {
      id: 'getParentAgentContextVariables',
      tag: 'Parent agents',
      summary: 'Get parent agent state-function context variables',
      pathParameters: contextVariablesPath,
      success: contextVariablesFound,
    },
  },
  {
    method: 'POST',
    path: '/api/parent_agents/search',
    permission: 'parent_agents.read',
    billing: 'not-needed',
    respond: searchParentAgents,
    operation: {
      id: 'searchParentAgents',
      tag: 'Parent agents',
      summary: 'Search parent agents',
      body: { schema: parentAgentSearchBody, example: { limit: 10, sort: { column: 'agent_name', desc: false } } },
      success: parentAgentsFound,
    },
  },
  {
    method: 'POST',
    path: '/api/parent_agents',
    permission: 'parent_agents.create',
    billing: 'needed',
    respond: createParentAgent,
    operation: {
      id: 'createParentAgent',
      tag: 'Parent agents',
      summary: 'Create parent agent',
      body: {
        schema: createParentAgentBody,
        example: {
          agent_name: 'First Agent',
          description: 'Answers questions.',
          parent_agent_type: 'Conversation Agent',
        },
      },
      success: parentAgentCreated,
      conflict: `The tenant has the maximum of ${limits.agentsPerTenant} agents`,
    },
  },
  {
    method: 'POST',
    path: '/api/llm_models/search',
    permission: 'llm_models.read',
    billing: 'not-needed',
    respond: searchLlmModels,
    operation: {
      id: 'searchLlmModels',
      tag: 'Models',
      summary: 'Search LLM models',
      body: { schema: llmModelSearchBody, example: { limit: 10, sort: { column: 'model_name', desc: false } } },
      success: llmModelsFound,
    },
  },
]
