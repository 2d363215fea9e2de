import type { Kysely, SqliteDatabase } from 'kysely'
import { SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import type { StoreDialect } from './dialect.ts'
import { keepingFirstFailure } from './dialect.ts'
import { makePrivate } from './private-file.ts'
import { cachingStatements } from './statement-cache.ts'

/** Another process that writes holds the file for milliseconds; waiting blocks every request of this one. */
const busyMs = 2_000

export function libsqlDialect(dataFile: string | undefined): StoreDialect {
  return {
    dialect: keepingFirstFailure(new SqliteDialect({ database: async () => openLibsql(dataFile) }), 'instr'),
    text: 'text',
    rowId: 'integer',
    autoId: (column) => column.primaryKey().autoIncrement(),
    // Whoever writes has the whole database.
    lockRows: async () => undefined,
    lockTable: async () => undefined,
    describeIndexes,
  }
}

function openLibsql(dataFile: string | undefined): SqliteDatabase {
  if (dataFile !== undefined) return replacedWhenBusy(() => openFile(dataFile))
  const database = new Database(':memory:')
  database.pragma('foreign_keys = ON')
  return cachingStatements(database)
}

function openFile(dataFile: string): Database.Database {
  // The file holds the signing key: only its owner may read it.
  makePrivate(dataFile)
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
  let statements = cachingStatements(database)
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
        statements.close()
        database = open()
        statements = cachingStatements(database)
        state = 'sound'
      }
      const statement = statements.prepare(text)
      return {
        reader: statement.reader,
        all: (parameters) => noticing(() => statement.all(parameters)),
        run: (parameters) => noticing(() => statement.run(parameters)),
        iterate: (parameters) => statement.iterate(parameters),
      }
    },
    close: () => statements.close(),
  }
}

/**
 * SQLite plans by sqlite_stat1, which only ANALYZE fills, once, with what is there at that moment; without it, a search
 * for twenty agents of one type reads a million of them in the order of their names. Fixed figures give every
 * database the plans of a big one, from its first row on (https://sqlite.org/optoverview.html, "Manual control").
 */
async function describeIndexes(
  db: Kysely<unknown>,
  table: string,
  selectivity: Record<string, number[]>,
): Promise<void> {
  await sql`analyze sqlite_schema`.execute(db)
  await sql`delete from sqlite_stat1 where tbl = ${table}`.execute(db)
  for (const [index, rows] of Object.entries(selectivity)) {
    await sql`insert into sqlite_stat1 (tbl, idx, stat) values (${table}, ${index}, ${rows.join(' ')})`.execute(db)
  }
  await sql`analyze sqlite_schema`.execute(db)
}
