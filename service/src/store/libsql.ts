import { closeSync, openSync } from 'node:fs'
import { SqliteDialect } from 'kysely'
import Database from 'libsql'
import type { StoreDialect } from './dialects.ts'
import { keepingFirstFailure } from './dialects.ts'

/** Another process that writes holds the file for milliseconds; waiting blocks every request of this one. */
const busyMs = 2_000

export function libsqlDialect(dataFile: string | undefined): StoreDialect {
  return {
    dialect: keepingFirstFailure(new SqliteDialect({ database: async () => openLibsql(dataFile) })),
    text: 'text',
    rowId: 'integer',
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
  database.pragma(`busy_timeout = ${busyMs}`)
  database.pragma('journal_mode = WAL')
  // FULL, so that a committed rotation survives a power cut (S-047).
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  return database
}
