import type { DatabaseConnection, Driver, SqliteDatabase, TransactionSettings } from 'kysely'
import { CompiledQuery, SqliteAdapter, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import { storeLimits } from '../../limits.ts'
import type { StoreEngine } from './engine.ts'
import { serviceDialect } from './engine.ts'
import { makePrivate } from './private-file.ts'
import { cachingStatements } from './statement-cache.ts'

export function libsqlEngine(dataFile: string | undefined): StoreEngine {
  return {
    kyselyDialect: serviceDialect(new LibsqlDialect({ database: async () => openLibsql(dataFile) }), {
      textPosition: 'instr',
      transactionsLock: 'database',
      deleteRows: async (tx, tables) => {
        for (const table of tables) await tx.deleteFrom(table).execute()
      },
    }),
    text: sql`text`,
    rowId: sql`integer`,
    autoId: sql`integer primary key autoincrement`,
    // The transaction has locked the whole database.
    lockRows: async () => undefined,
    lockTable: async () => undefined,
    // AUTOINCREMENT continues after the largest id that a row ever had.
    continueIds: async () => undefined,
  }
}

/** Migrates in one transaction, so that a migration that fails, or meets that of another process, leaves nothing. */
class LibsqlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class LibsqlDialect extends SqliteDialect {
  override createAdapter(): LibsqlAdapter {
    return new LibsqlAdapter()
  }

  /** A transaction that may write takes the write lock when it begins, so that what it reads cannot change before it writes. */
  override createDriver(): Driver {
    const driver = super.createDriver()
    driver.beginTransaction = async (connection: DatabaseConnection, { accessMode }: TransactionSettings) => {
      await connection.executeQuery(CompiledQuery.raw(accessMode === 'read only' ? 'begin' : 'begin immediate'))
    }
    return driver
  }
}

function openLibsql(dataFile: string | undefined): SqliteDatabase {
  if (dataFile !== undefined) return replacedWhenBusy(() => openFile(dataFile))
  const database = new Database(':memory:')
  database.pragma('foreign_keys = ON')
  return cachingStatements(database)
}

/**
 * Opens a file, which is created with mode 0600. A statement waits for the lock of another process (`busyMs`, 2 s), and then gives
 * 503.
 */
function openFile(dataFile: string): Database.Database {
  // The file holds the signing key: only its owner may read it.
  makePrivate(dataFile)
  const database = new Database(dataFile)
  database.pragma(`busy_timeout = ${storeLimits.busyMs}`)
  database.pragma('journal_mode = WAL')
  // FULL, so that a committed rotation survives a power cut (S-047).
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  return database
}

/**
 * Opens the database again once a statement has failed with SQLITE_BUSY or one of its kinds and its transaction has ended.
 * libsql leaves such a statement unfinished, and every later commit of that connection fails ("SQL statements in progress").
 */
function replacedWhenBusy(open: () => Database.Database): SqliteDatabase {
  let database = open()
  let statements = cachingStatements(database)
  let state: 'usable' | 'unusable' = 'usable'
  function noticing<Result>(run: () => Result): Result {
    try {
      return run()
    } catch (error) {
      if (String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')) state = 'unusable'
      throw error
    }
  }
  return {
    prepare(text) {
      if (state === 'unusable' && !database.inTransaction) {
        // The new database is opened before the old one is closed, because a statement on a closed database would end the process. If
        // opening fails, the next statement tries again.
        const opened = open()
        statements.close()
        database = opened
        statements = cachingStatements(database)
        state = 'usable'
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
