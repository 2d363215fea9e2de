import type { Selectable } from 'kysely'
import type { RawDatabase } from '../../database.ts'
import { partsOf } from '../../engine/split-rows.ts'
import type { LlmModelTable } from '../../schema.ts'
import type { Found, Search } from './search.ts'
import { requireTenant, searchTenant, searchTextOf } from './search.ts'

export type LlmModelRow = Selectable<LlmModelTable>
export type LlmModelColumn = 'id' | 'model_name' | 'model_version' | 'provider'
export type NewLlmModel = Pick<LlmModelRow, 'model_name' | 'model_version' | 'provider'>

/** The models that agents of one tenant can be assigned. */
export interface LlmModels {
  search(search: Search<LlmModelColumn>): Promise<Found<LlmModelRow>>
  createAll(models: (NewLlmModel & { id?: number })[]): Promise<void>
  /** Returns the first model of the tenant, which a new agent gets. */
  firstId(): Promise<number>
}

export function llmModelsOf(db: RawDatabase, tenantId: string): LlmModels {
  return {
    async search(search) {
      const { rows: ids, count } = await searchTenant(db, { table: 'llm_models', tenantId, search })
      if (ids.length === 0) return { rows: [], count }
      const rows = await db
        .selectFrom('llm_models')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('id', 'in', ids)
        .execute()
      for (const row of rows) requireTenant(row.tenant_id, tenantId)
      const byId = new Map(rows.map((row) => [row.id, row]))
      return { rows: ids.flatMap((id) => byId.get(id) ?? []), count }
    },
    async createAll(models) {
      const rows = models.map((model) => {
        const search_text = searchTextOf([model.model_name, model.model_version, model.provider])
        return { ...model, tenant_id: tenantId, search_text }
      })
      for (const part of partsOf(rows)) await db.insertInto('llm_models').values(part).execute()
    },
    async firstId() {
      const { id, tenant_id } = await db
        .selectFrom('llm_models')
        .select(['id', 'tenant_id'])
        .where('tenant_id', '=', tenantId)
        .orderBy('id')
        .limit(1)
        .executeTakeFirstOrThrow()
      requireTenant(tenant_id, tenantId)
      return id
    },
  }
}
