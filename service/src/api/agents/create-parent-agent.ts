import * as z from 'zod'
import { limits } from '../../limits.ts'
import type { NewParentAgent, ParentAgentRow } from '../../store/tables/tenant/parent-agents.ts'
import type { TenantStore } from '../../store/tenant-store.ts'
import type { Envelope } from '../envelope.ts'
import { ApiError, succeeded, ValidationError } from '../envelope.ts'
import { descriptionText, nameText } from '../text.ts'
import type { ApiCall } from '../validation.ts'
import { checkBody } from '../validation.ts'
import { defaultConfigs, defaultContextGroups } from './agent-defaults.ts'
import { agentTypeOf, isTwoTypes, keyOf } from './agent-key.ts'
import type { ParentAgent } from './parent-agent-response.ts'
import { parentAgentResponse } from './parent-agent-response.ts'

export interface CreateBody {
  agent_name: string
  description: string
  type: string
  typeKey: string
  active: boolean
}

const typeFields = ['parent_agent_type', 'parent_agent_type_key']

/** States the check below as JSON Schema. Null counts as absent. */
const oneTypeField = {
  description: `Give ${typeFields.join(', ')} or both.`,
  anyOf: typeFields.map((name) => ({ required: [name], properties: { [name]: { type: 'string' } } })),
}

/** `agent_name` and `description` are required. `active` is true by default. */
export const createParentAgentBody: z.ZodType<CreateBody> = z
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
export async function createParentAgent(call: ApiCall): Promise<Envelope<{ items: ParentAgent[] }>> {
  const body = checkBody(call.bytes, createParentAgentBody)
  const created = await insert(call.tenant, body, call.nowMs)
  if (created === undefined) throw nameTaken(body.agent_name)
  return succeeded({ items: [parentAgentResponse(created)] })
}

/**
 * Inserts the agent and its context variables, all or nothing, up to a number of agents of one tenant (`agentsPerTenant`, 10,000).
 */
function insert(tenant: TenantStore, body: CreateBody, nowMs: number): Promise<ParentAgentRow | undefined> {
  return tenant.transact(async ({ agents, models, contextGroups }) => {
    if (await agents.areAtLeast(limits.agentsPerTenant)) throw tooManyAgents()
    const created = await agents.create(newAgent(body, await models.firstId(), nowMs))
    if (created !== undefined) await contextGroups.create([{ agentId: created.id, groups: defaultContextGroups() }])
    return created
  })
}

function newAgent(body: CreateBody, llmModel: number, nowMs: number): NewParentAgent {
  return {
    parent_agent_type: body.type,
    parent_agent_type_key: body.typeKey,
    agent_key: keyOf(body.agent_name),
    agent_name: body.agent_name,
    full_display_name: `${body.agent_name} (${body.type})`,
    display_name: body.agent_name,
    description: body.description,
    configs: JSON.stringify(defaultConfigs()),
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
