import { Kysely, Migrator } from 'kysely'
import type { StoreLocation } from './dialects.ts'
import { openDialect } from './dialects.ts'
import { migrations } from './migrations.ts'
import type { Tables } from './schema.ts'

/** A connection or an open transaction: queries take either. */
export type Db = Kysely<Tables>

export interface Store {
  readonly db: Db
  close(): Promise<void>
}

export async function openStore(location: StoreLocation): Promise<Store> {
  const dialect = await openDialect(location)
  const db = new Kysely<Tables>({ dialect: dialect.dialect })
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations(dialect) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) {
    await db.destroy()
    throw new Error('the database could not be brought up to date', { cause: error })
  }
  return { db, close: () => db.destroy() }
}
