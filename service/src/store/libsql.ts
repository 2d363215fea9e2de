import { chmodSync, closeSync, fsyncSync, lstatSync, openSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { SqliteAdapter, type SqliteDatabase, SqliteDialect, sql } from 'kysely'
import Database from 'libsql'
import { storeLimits } from '../limits.ts'
import { cachingStatements, type StoreEngine, serviceDialect } from './database.ts'

const ownerOnly = 0o600
const othersBits = 0o077

/** Follows symbolic links to the file that a path names, also if that file does not exist yet. */
export function linkTarget(path: string): string {
  let file = path
  for (let links = 0; links < storeLimits.symbolicLinks; links += 1) {
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) break
    file = resolve(dirname(file), readlinkSync(file))
  }
  return file
}

/**
 * Creates the database file for its owner only, or removes the permissions of group and others from an existing one,
 * because it holds the signing key. An existing file is not opened, because closing it would release the locks that
 * another database of this process has on it.
 */
function makePrivate(dataFile: string): void {
  const file = linkTarget(dataFile)
  try {
    closeSync(openSync(file, 'ax', ownerOnly))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  // SQLite keeps its log and the log's index in files beside it.
  for (const one of [file, `${file}-wal`, `${file}-shm`]) {
    const mode = statSync(one, { throwIfNoEntry: false })?.mode ?? 0
    if ((mode & othersBits) !== 0) chmodSync(one, mode & ~othersBits)
  }
}

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
}

function openLibsql(dataFile: string | undefined): SqliteDatabase {
  if (dataFile !== undefined) {
    // The whole path, because SQLite reads `file:` and `:memory:` as other places, and the working directory may change.
    const file = resolve(dataFile)
    return replacedWhenBusy(() => openFile(file))
  }
  const database = new Database(':memory:')
  database.pragma('foreign_keys = ON')
  return cachingStatements(database)
}

/**
 * Opens a file, which is created with mode 0600. A statement waits for the lock of another process, and then gives
 * 503.
 */
function openFile(dataFile: string): Database.Database {
  // The file holds the signing key: only its owner may read it.
  makePrivate(dataFile)
  const database = new Database(dataFile)
  database.pragma(`busy_timeout = ${storeLimits.busyMs}`)
  database.pragma('journal_mode = WAL')
  // FULL, so that a committed rotation survives a power cut.
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

/**
 * Copies a data file to a new file for its owner only. The copy has the state of one moment, also while a service writes, whose
 * lock it waits for. Throws EEXIST if there is a file already. A copy that fails leaves no file.
 */
export function copyDataFile(dataFile: string, copy: string): void {
  // `vacuum into` accepts an empty file. If there were no file, SQLite would create one that other users can read.
  const descriptor = openSync(copy, 'wx', 0o600)
  try {
    copyInto(dataFile, copy)
    fsyncSync(descriptor)
  } catch (error) {
    rmSync(copy, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
}

function copyInto(dataFile: string, copy: string): void {
  // SQLite takes a relative path such as `:memory:` or `file:…` for something else than a file of that name.
  const database = new Database(resolve(dataFile))
  try {
    database.pragma(`busy_timeout = ${storeLimits.busyMs}`)
    database.prepare('vacuum into ?').run([resolve(copy)])
  } finally {
    database.close()
  }
}
