import type { Kysely } from 'kysely'

/** Adds the time at which a secret was made. It tells the old one from the new one while both are active. */
export async function addSecretTimes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('client_secrets')
    .addColumn('created_ms', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
}
