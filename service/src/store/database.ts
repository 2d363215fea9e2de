import type { Kysely } from 'kysely'
import type { Tables } from './schema.ts'

declare const opaque: unique symbol

/** A connection or an open transaction. All parts of the service pass it on, but only the store builds queries on it. */
export interface Db {
  readonly [opaque]: 'database'
}

/** The query builder behind a `Db`. Outside of the store only tests use it. */
export type RawDatabase = Kysely<Tables>

export function rawDatabase(db: Db): RawDatabase {
  return db as unknown as RawDatabase
}

export function opaqueDatabase(database: RawDatabase): Db {
  return database as unknown as Db
}
