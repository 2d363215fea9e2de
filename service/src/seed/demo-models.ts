import type { NewLlmModel } from '../store/tables/tenant/llm-models.ts'

/** The models of the demo tenants, and of tenants of a seed that names none. */
export const demoModels: readonly NewLlmModel[] = [
  { model_name: 'Aurora', model_version: '2.1', provider: 'northlight' },
  { model_name: 'Aurora Mini', model_version: '2.1', provider: 'northlight' },
  { model_name: 'Basalt', model_version: '7', provider: 'quarry' },
  { model_name: 'Basalt Long', model_version: '7', provider: 'quarry' },
  { model_name: 'Cirrus', model_version: '2026-03', provider: 'weatherworks' },
  { model_name: 'Cirrus Fast', model_version: '2026-03', provider: 'weatherworks' },
]
