import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'

/**
 * `hash` is the key of stored hashes, and `signing` signs access tokens (credentials/keys.ts). `reset` encrypts the authorization
 * requests that sign-in pages carry. Each reset of the data replaces this key, so that requests encrypted before are void. Two entries
 * are no keys: `seed` marks what the database was filled with, and `endpoint-billing` is a part of a seed without a table of its own.
 */
export type ServiceKeyName = 'hash' | 'signing' | 'reset' | 'seed' | 'endpoint-billing'

const byName = prepare((db, { name }: Slots<{ name: ServiceKeyName }>) =>
  db.selectFrom('service_keys').select('value').where('name', '=', name),
)

/** Returns the key of this name. Its query is prepared, because each sign-in page and form reads a key. */
export async function findServiceKey(db: Db, name: ServiceKeyName): Promise<string | undefined> {
  return (await byName.first(db, { name }))?.value
}

/** Stores the key unless there is one of this name. If two processes start at once, the second one waits, and the first key is kept. */
export async function addServiceKey(db: Db, name: ServiceKeyName, value: string): Promise<'added' | 'present'> {
  const { numInsertedOrUpdatedRows } = await rawDatabase(db)
    .insertInto('service_keys')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n ? 'added' : 'present'
}

export async function replaceServiceKey(db: Db, name: ServiceKeyName, value: string): Promise<void> {
  await rawDatabase(db)
    .insertInto('service_keys')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

export async function removeServiceKey(db: Db, name: ServiceKeyName): Promise<void> {
  await rawDatabase(db).deleteFrom('service_keys').where('name', '=', name).execute()
}
