import type { LlmModelColumn } from '../store/tenant.ts'
import { type ApiCall, type ColumnTypes, searchBody, validate } from './validation.ts'

const columns: ColumnTypes<LlmModelColumn> = {
  id: 'integer',
  model_name: 'text',
  model_version: 'text',
  provider: 'text',
}

/** The specification does not name the provider filter. The service calls it `provider`. */
export const llmModelSearchBody = searchBody(columns, 'provider')

/** POST /api/llm_models/search (specification 4.4). */
export async function searchLlmModels({ tenant, body }: ApiCall) {
  const { rows, count } = await tenant.models.search(validate(llmModelSearchBody, body, 'body'))
  const items = rows.map(({ id, model_name, model_version, provider }) => ({ id, model_name, model_version, provider }))
  return { items, count }
}
