import type { Kysely } from 'kysely'

/** Adds the column `carried`. Existing rows get 1, because a sign-in page may carry their requests. */
export async function markCarriedRequests(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('authorization_requests')
    .addColumn('carried', 'integer', (column) => column.notNull().defaultTo(1))
    .execute()
}
