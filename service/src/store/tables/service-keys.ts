import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'

/** Each reset replaces `reset`. Text that was encrypted with an earlier value is void. */
export type ServiceKeyName = 'hash' | 'signing' | 'reset'

export async function findServiceKey(db: Db, name: ServiceKeyName): Promise<string | undefined> {
  const row = await rawDatabase(db)
    .selectFrom('service_keys')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.value
}

/** Stores the key unless there is one of this name. If two processes start at once, the first key is kept. */
export async function addServiceKey(db: Db, name: ServiceKeyName, value: string): Promise<void> {
  await rawDatabase(db)
    .insertInto('service_keys')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
}

export async function replaceServiceKey(db: Db, name: ServiceKeyName, value: string): Promise<void> {
  await rawDatabase(db)
    .insertInto('service_keys')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
