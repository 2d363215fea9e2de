import * as z from 'zod'
import type { ContextGroupRow } from '../../store/tables/tenant/context-groups.ts'
import type { Envelope } from '../envelope.ts'
import { ApiError, succeeded } from '../envelope.ts'
import type { ApiCall } from '../validation.ts'
import { validate } from '../validation.ts'

/** A group of context variables in a response (specification 2.5 and 2.6). */
export interface ContextVariableGroup {
  key: string
  tool_key: string
  tool_name: string
  display_name: string
  tool_id: string
  source_type: string
  variables: ContextVariable[]
  output_schema: Record<string, unknown> | null
}

export interface ContextVariable {
  path: string
  type: string
  description: string
  full_var: string
  insert_value: string
}

export const contextVariablesPath: z.ZodObject<{ parent_agent_id: z.ZodType<number> }> = z.object({
  parent_agent_id: z
    .string()
    .refine((text) => /^-?\d+$/.test(text), { message: 'a whole number', params: { type: 'integer_parsing' } })
    .transform(Number)
    // The OpenAPI document shows the integer that the text stands for.
    .meta({ type: 'integer' }),
})

/** GET /api/parent_agents/{parent_agent_id}/state_function/context_variables (specification 4.1). */
export async function readContextVariables({
  tenant,
  param,
}: ApiCall): Promise<Envelope<{ context_variables: ContextVariableGroup[] }>> {
  const { parent_agent_id: id } = validate(contextVariablesPath, { parent_agent_id: param('parent_agent_id') }, 'path')
  // A number that no row can have gets the response of an agent of another tenant.
  const isKnown = Number.isSafeInteger(id) && (await tenant.agents.has(id))
  if (!isKnown) throw new ApiError({ status: 404, type: 'not_found', message: 'parent agent not found' })
  return succeeded({ context_variables: (await tenant.contextGroups.ofAgent(id)).map(groupResponse) })
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
