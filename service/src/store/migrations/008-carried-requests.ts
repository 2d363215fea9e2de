import type { Kysely } from 'kysely'

/** Rows of earlier versions may have come from a sign-in page. */
export async function markCarriedRequests(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('authorization_requests')
    .addColumn('carried', 'integer', (column) => column.notNull().defaultTo(1))
    .execute()
}
