import type { Kysely } from 'kysely'
import type { StoreEngine } from '../engine/engine.ts'

/**
 * Creates the table of changes to clients: who changed which client, and when. The rows remain after the process that made a change has
 * ended.
 */
export async function createRegistryEvents(db: Kysely<unknown>, { autoId, rowId, text }: StoreEngine): Promise<void> {
  await db.schema
    .createTable('registry_events')
    .addColumn('id', rowId, autoId)
    .addColumn('at_ms', 'bigint', (column) => column.notNull())
    .addColumn('event', text, (column) => column.notNull())
    .addColumn('actor', text, (column) => column.notNull())
    .addColumn('client_id', text, (column) => column.notNull())
    .addColumn('tenant_id', text, (column) => column.notNull().references('tenants.id'))
    .execute()
  await db.schema.createIndex('registry_events_by_tenant').on('registry_events').columns(['tenant_id', 'id']).execute()
}
