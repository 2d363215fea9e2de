import type { Kysely } from 'kysely'

/** When a secret was made tells the old one from the new one while both count. */
export async function addSecretTimes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('client_secrets')
    .addColumn('created_ms', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
}
