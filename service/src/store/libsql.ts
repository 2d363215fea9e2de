import { closeSync, openSync } from 'node:fs'
import type { SqliteDatabase } from 'kysely'
import { SqliteDialect } from 'kysely'
import Database from 'libsql'
import type { StoreDialect } from './dialects.ts'
import { keepingFirstFailure } from './dialects.ts'
import { cachingStatements } from './statement-cache.ts'

/** Another process that writes holds the file for milliseconds; waiting blocks every request of this one. */
const busyMs = 2_000

export function libsqlDialect(dataFile: string | undefined): StoreDialect {
  return {
    dialect: keepingFirstFailure(new SqliteDialect({ database: async () => cachingStatements(openLibsql(dataFile)) })),
    text: 'text',
    rowId: 'integer',
    autoId: (column) => column.primaryKey().autoIncrement(),
  }
}

function openLibsql(dataFile: string | undefined): SqliteDatabase {
  if (dataFile !== undefined) return replacedWhenBusy(() => openFile(dataFile))
  const database = new Database(':memory:')
  database.pragma('foreign_keys = ON')
  return database
}

function openFile(dataFile: string): Database.Database {
  // The file holds the signing key: only its owner may read it.
  createPrivately(dataFile)
  const database = new Database(dataFile)
  database.pragma(`busy_timeout = ${busyMs}`)
  database.pragma('journal_mode = WAL')
  // FULL, so that a committed rotation survives a power cut (S-047).
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  return database
}

/**
 * libsql leaves a statement that met SQLITE_BUSY unfinished, and from then on every commit of its connection fails
 * ("SQL statements in progress"). So that connection is given up as soon as its transaction has ended.
 */
function replacedWhenBusy(open: () => Database.Database): SqliteDatabase {
  let database = open()
  let state: 'sound' | 'worn' = 'sound'
  function noticing<Result>(run: () => Result): Result {
    try {
      return run()
    } catch (error) {
      if ((error as { code?: unknown }).code === 'SQLITE_BUSY') state = 'worn'
      throw error
    }
  }
  return {
    prepare(text) {
      if (state === 'worn' && !database.inTransaction) {
        database.close()
        database = open()
        state = 'sound'
      }
      const statement = database.prepare(text)
      return {
        reader: statement.reader,
        all: (parameters) => noticing(() => statement.all(parameters)),
        run: (parameters) => noticing(() => statement.run(parameters)),
        iterate: (parameters) => statement.iterate(parameters),
      }
    },
    close: () => database.close(),
  }
}

/** Leaves a file that is there alone: closing it would give up the locks of another database on it in this process. */
function createPrivately(dataFile: string): void {
  try {
    closeSync(openSync(dataFile, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
