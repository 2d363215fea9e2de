import type { Kysely } from 'kysely'

/**
 * Adds the column `carried`. Existing rows get 1: it is unknown which of their requests came with the form of a sign-in page, and 1 keeps
 * a row after its decision.
 */
export async function markCarriedRequests(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('authorization_requests')
    .addColumn('carried', 'integer', (column) => column.notNull().defaultTo(1))
    .execute()
}
