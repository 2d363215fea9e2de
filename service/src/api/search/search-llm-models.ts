import type * as z from 'zod'
import type { LlmModelColumn } from '../../store/tables/tenant/llm-models.ts'
import type { Search } from '../../store/tables/tenant/search.ts'
import type { Envelope } from '../envelope.ts'
import { succeeded } from '../envelope.ts'
import type { ApiCall } from '../validation.ts'
import { checkBody } from '../validation.ts'
import type { ColumnTypes } from './search-body.ts'
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
export const llmModelSearchBody: z.ZodType<Search<LlmModelColumn>> = searchBody(columns, 'provider')

/** POST /api/llm_models/search (specification 4.4). */
export async function searchLlmModels({
  tenant,
  bytes,
}: ApiCall): Promise<Envelope<{ items: LlmModel[]; count: number }>> {
  const { rows, count } = await tenant.models.search(checkBody(bytes, llmModelSearchBody))
  const items = rows.map(({ id, model_name, model_version, provider }) => ({ id, model_name, model_version, provider }))
  return succeeded({ items, count })
}
