import { closeSync, openSync } from 'node:fs'
import type { ColumnDefinitionBuilder, Dialect } from 'kysely'
import { SqliteDialect } from 'kysely'
import Database from 'libsql'

/** Everything that differs between database engines. No other file may know which one is in use. */
export interface StoreDialect {
  readonly dialect: Dialect
  /** An integer key that the database hands out. */
  autoId(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder
}

export function libsqlDialect(dataFile: string | undefined): StoreDialect {
  return {
    dialect: new SqliteDialect({ database: async () => openLibsql(dataFile) }),
    autoId: (column) => column.primaryKey().autoIncrement(),
  }
}

function openLibsql(dataFile: string | undefined): Database.Database {
  if (dataFile === undefined) {
    const database = new Database(':memory:')
    database.pragma('foreign_keys = ON')
    return database
  }
  // The file holds the signing key: only its owner may read it.
  closeSync(openSync(dataFile, 'a', 0o600))
  const database = new Database(dataFile)
  database.pragma('busy_timeout = 5000')
  database.pragma('journal_mode = WAL')
  // FULL, so that a committed rotation survives a power cut (S-047).
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  return database
}
