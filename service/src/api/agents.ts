import * as z from 'zod'
import { limits } from '../limits.ts'
import {
  type ContextGroupRow,
  keyOf,
  type NewParentAgent,
  type ParentAgentColumn,
  type ParentAgentRow,
  type TenantStore,
} from '../store/tenant.ts'
import { defaultConfigs, defaultContextGroups } from './agent-defaults.ts'
import { ApiError, ValidationError } from './envelope.ts'
import type { ContextVariableGroup, ParentAgent } from './schemas.ts'
import { type ApiCall, type ColumnTypes, descriptionText, nameText, searchBody, validate } from './validation.ts'

/** The two fields of a type, as a creation or a seed has them. */
interface TypeFields {
  readonly parent_agent_type?: string | null | undefined
  readonly parent_agent_type_key?: string | null | undefined
}

/** Returns whether both fields are there and name different types. */
export function isTwoTypes({ parent_agent_type: type, parent_agent_type_key: key }: TypeFields): boolean {
  return Boolean(type && key) && keyOf(type ?? '') !== keyOf(key ?? '')
}

/** Returns the type and its key, of which one may be missing. Any type is accepted. */
export function agentTypeOf({ parent_agent_type: type, parent_agent_type_key: key }: TypeFields) {
  const typeKey = type ? keyOf(type) : (key ?? '').normalize('NFC')
  return { type: type || labelOf(typeKey), typeKey }
}

/** Returns the type for a key that was sent without one. */
function labelOf(key: string): string {
  return key.replaceAll('_', ' ').replace(/(^| )(\p{Ll})/gu, (_, before: string, letter: string) => {
    const capital = letter.toUpperCase()
    // Some letters have a capital whose lower case is another letter. Then type and key would not agree.
    return before + (keyOf(capital) === letter ? capital : letter)
  })
}

/** Returns the agent of a row. Its `created_at` is ISO 8601 in UTC. */
function parentAgentResponse(row: ParentAgentRow): ParentAgent {
  return {
    id: row.id,
    parent_agent_type: row.parent_agent_type,
    parent_agent_type_key: row.parent_agent_type_key,
    agent_key: row.agent_key,
    agent_name: row.agent_name,
    full_display_name: row.full_display_name,
    tenant: row.tenant_id,
    display_name: row.display_name,
    description: row.description,
    configs: JSON.parse(row.configs),
    llm_model: row.llm_model,
    llm_model_name: row.llm_model_name,
    active: row.active === 1,
    state_function: JSON.parse(row.state_function),
    created_at: new Date(row.created_ms).toISOString(),
  }
}

export const contextVariablesPath = z.object({
  parent_agent_id: z
    .string()
    .refine((text) => /^-?\d+$/.test(text), { message: 'a whole number', params: { type: 'integer_parsing' } })
    .transform(Number)
    // The OpenAPI document shows the integer that the text stands for.
    .meta({ type: 'integer' }),
})

/** GET /api/parent_agents/{parent_agent_id}/state_function/context_variables (specification 4.1). */
export async function readContextVariables({ tenant, param }: ApiCall) {
  const { parent_agent_id: id } = validate(contextVariablesPath, { parent_agent_id: param('parent_agent_id') }, 'path')
  // A number that no row can have gets the response of an agent of another tenant.
  const isKnown = Number.isSafeInteger(id) && (await tenant.agents.has(id))
  if (!isKnown) throw new ApiError({ status: 404, type: 'not_found', message: 'parent agent not found' })
  return { context_variables: (await tenant.contextGroups.ofAgent(id)).map(groupResponse) }
}

function groupResponse(row: ContextGroupRow): ContextVariableGroup {
  return {
    key: row.key,
    tool_key: row.tool_key,
    tool_name: row.tool_name,
    display_name: row.display_name,
    tool_id: row.tool_id,
    source_type: row.source_type,
    variables: JSON.parse(row.variables),
    output_schema: row.output_schema === null ? null : JSON.parse(row.output_schema),
  }
}

const typeFields = ['parent_agent_type', 'parent_agent_type_key']

/** States the check below as JSON Schema. Null counts as absent. */
const oneTypeField = {
  description: `Give ${typeFields.join(', ')} or both.`,
  anyOf: typeFields.map((name) => ({ required: [name], properties: { [name]: { type: 'string' } } })),
}

/** `agent_name` and `description` are required. `active` is true by default. */
export const createParentAgentBody = z
  .object({
    agent_name: nameText(),
    description: descriptionText(),
    parent_agent_type: nameText().nullish(),
    parent_agent_type_key: nameText().nullish(),
    active: z.boolean().nullish(),
  })
  .superRefine(({ parent_agent_type: type, parent_agent_type_key: key }, context) => {
    if (typeof type !== 'string' && typeof key !== 'string') {
      const message = 'send parent_agent_type or parent_agent_type_key'
      context.addIssue({ code: 'custom', path: ['parent_agent_type_key'], message, params: { type: 'missing' } })
    } else if (isTwoTypes({ parent_agent_type: type, parent_agent_type_key: key })) {
      const message = 'parent_agent_type and parent_agent_type_key name different types'
      context.addIssue({ code: 'custom', path: ['parent_agent_type_key'], message, params: { type: 'value_error' } })
    }
  })
  .meta(oneTypeField)
  .transform((body) => {
    const { agent_name, description, active } = body
    return { agent_name, description, ...agentTypeOf(body), active: active ?? true }
  })

/** POST /api/parent_agents (specification 4.3). */
export async function createParentAgent(call: ApiCall) {
  const body = validate(createParentAgentBody, call.body, 'body')
  const created = await insert(call.tenant, body, call.nowMs)
  if (created === undefined) throw nameTaken(body.agent_name)
  return { items: [parentAgentResponse(created)] }
}

type CreateBody = z.output<typeof createParentAgentBody>

/** Inserts the agent and its context variables, all or nothing. */
function insert(tenant: TenantStore, body: CreateBody, nowMs: number): Promise<ParentAgentRow | undefined> {
  return tenant.transact(async ({ agents, models, contextGroups }) => {
    if ((await agents.count()) >= limits.agentsPerTenant) throw tooManyAgents()
    const created = await agents.create(newAgent(body, await models.firstId(), nowMs))
    if (created !== undefined) await contextGroups.create([{ agentId: created.id, groups: defaultContextGroups }])
    return created
  })
}

function newAgent(body: CreateBody, llmModel: number, nowMs: number): NewParentAgent {
  return {
    parent_agent_type: body.type,
    parent_agent_type_key: body.typeKey,
    agent_name: body.agent_name,
    full_display_name: `${body.agent_name} (${body.type})`,
    display_name: body.agent_name,
    description: body.description,
    configs: JSON.stringify(defaultConfigs),
    llm_model: llmModel,
    active: body.active ? 1 : 0,
    state_function: '[]',
    created_ms: nowMs,
  }
}

/** Creates the error of a tenant at its limit, which exists because no endpoint removes an agent. */
function tooManyAgents(): ApiError {
  const message = `the tenant has the maximum of ${limits.agentsPerTenant} agents`
  return new ApiError({ status: 409, type: 'limit_reached', message })
}

/** Creates the error of a name whose key exists, because a key is unique in its tenant. */
function nameTaken(agentName: string): ValidationError {
  const msg = 'an agent with this agent_key exists'
  return new ValidationError([{ loc: ['body', 'agent_name'], msg, type: 'already_exists', input: agentName }])
}

const columns: ColumnTypes<ParentAgentColumn> = {
  active: 'boolean',
  agent_key: 'text',
  agent_name: 'text',
  id: 'integer',
  llm_model: 'integer',
  parent_agent_type_key: 'text',
  tenant: 'text',
}

/** The specification does not name the active-state filter. The service calls it `active`. */
export const parentAgentSearchBody = searchBody(columns, 'active')

/** POST /api/parent_agents/search (specification 4.2). */
export async function searchParentAgents({ tenant, body }: ApiCall) {
  const { rows, count } = await tenant.agents.search(validate(parentAgentSearchBody, body, 'body'))
  return { items: rows.map(parentAgentResponse), count }
}
