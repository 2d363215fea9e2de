import type { Context } from 'hono'
import type * as z from 'zod'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import type { LlmModelColumn } from '../../store/tables/tenant/llm-models.ts'
import type { TenantStore } from '../../store/tenant-store.ts'
import type { Envelope } from '../envelope.ts'
import { succeeded } from '../envelope.ts'
import { comparedText } from '../text.ts'
import { checkBody, readBody } from '../validation.ts'
import type { ColumnTypes } from './filters.ts'
import type { SearchBody } from './search-body.ts'
import { searchBody } from './search-body.ts'

/** An LLM model in a response (specification 2.4). */
export interface LlmModel {
  id: number
  model_name: string
  model_version: string
  provider: string
}

const columns: ColumnTypes<LlmModelColumn> = {
  id: 'integer',
  model_name: 'text',
  model_version: 'text',
  provider: 'text',
}

/** The specification does not name the provider filter. The service calls it `provider`. */
export const llmModelSearchBody: z.ZodType<SearchBody<LlmModelColumn, string>> = searchBody(columns, {
  name: 'provider',
  schema: comparedText(),
})

/** POST /api/llm_models/search (specification 4.4). */
export async function searchLlmModels(
  c: Context<HttpEnvironment>,
  tenant: TenantStore,
): Promise<Envelope<{ items: LlmModel[]; count: number }>> {
  const body = await readBody(c.req.raw)
  const found = await c.get('turns').run(tenant.tenantId, async () => {
    const { search, own: provider } = checkBody(body, llmModelSearchBody)
    const filters =
      provider === undefined ? [] : [{ kind: 'equals' as const, column: 'provider' as const, value: provider }]
    return tenant.models.search({ ...search, filter: { kind: 'all', filters: [search.filter, ...filters] } })
  })
  const items = found.rows.map(({ id, model_name, model_version, provider }) => ({
    id,
    model_name,
    model_version,
    provider,
  }))
  return succeeded({ items, count: found.count })
}
