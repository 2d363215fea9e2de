import type { Kysely } from 'kysely'
import { registeredPageOrigin } from '../../redirect-uris.ts'
import type { Tables } from '../schema.ts'

/** A CORS check finds its origin by this index. Before, it read and parsed every redirect URI. */
export async function addPageOrigins(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .alterTable('client_redirect_uris')
    .addColumn('page_origin', 'text', (column) => column.notNull().defaultTo(''))
    .execute()
  for (const { id, kind } of await db.selectFrom('clients').select(['id', 'kind']).execute()) {
    const uris = await db
      .selectFrom('client_redirect_uris')
      .select('redirect_uri')
      .where('client_id', '=', id)
      .execute()
    for (const { redirect_uri } of uris) {
      await db
        .updateTable('client_redirect_uris')
        .set({ page_origin: registeredPageOrigin(redirect_uri, kind) })
        .where('client_id', '=', id)
        .where('redirect_uri', '=', redirect_uri)
        .execute()
    }
  }
  await db.schema.createIndex('redirect_uris_by_origin').on('client_redirect_uris').column('page_origin').execute()
}
