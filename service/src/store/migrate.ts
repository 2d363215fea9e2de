import { setTimeout as sleep } from 'node:timers/promises'
import { DEFAULT_MIGRATION_TABLE, type Kysely, type Migration, Migrator, sql } from 'kysely'
import { storeLimits } from '../limits.ts'
import type { RawDatabase } from './database.ts'
import type { StoreEngine } from './engine/engine.ts'
import { databaseFailureOf, isMissingTable } from './engine/failures.ts'
import { createFirstTables } from './migrations/001-first-tables.ts'

export type MissingPart = 'database' | 'migrations'

export interface Opening {
  /**
   * `refuse` rejects data of an older version, because a running older service would not be ready after a migration. Empty data
   * migrates.
   */
  migrations: 'run' | 'refuse'
}

const refusals = {
  older: 'the data is of an older version of agent-service; use that version, or start this one on it first',
  newer: 'the data is of a newer version of agent-service; start that version, or choose other data',
} as const

/** The migrations in the order of their names, which one process at a time runs. */
export function migrationsFor(engine: StoreEngine): Record<string, Migration> {
  return { '001-first-tables': { up: (db: Kysely<unknown>) => createFirstTables(db, engine) } }
}

/**
 * Brings the tables up to date. If another process migrates at the same time on libSQL, it tries again after `migrationPauseMs`,
 * 100 ms, for `migrationMs`, 5 s at most. On PostgreSQL it waits for the lock of the `Migrator`. The limit of this wait is
 * `statementMs`, 10 s. It is not `lockWaitMs`, because the `Migrator` sets a longer `lock_timeout` for this wait. On both engines the
 * function then rejects, with the last error as the cause.
 */
export async function migrate(
  db: RawDatabase,
  known: Record<string, Migration>,
  { migrations: mode }: Opening,
): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => known } })
  const giveUpAtMs = performance.now() + storeLimits.migrationMs
  async function failureOfAttempt(): Promise<unknown> {
    const found = await findVersion(db, Object.keys(known)).catch((error: unknown) => ({ error }))
    // Only data whose version was read may migrate, because `refuse` protects data of an older version.
    if (typeof found === 'object') return found.error
    if (found === 'current') return undefined
    if (found === 'newer' || (found === 'older' && mode === 'refuse')) throw new Error(refusals[found])
    return (await migrator.migrateToLatest()).error
  }
  for (;;) {
    const error = await failureOfAttempt()
    if (error === undefined) return
    if (!isMigratedElsewhere(error) || performance.now() > giveUpAtMs)
      throw new Error('the database could not be brought up to date', { cause: error })
    await sleep(storeLimits.migrationPauseMs)
  }
}

/** SQLite reports `SQLITE_BUSY` after a wait for a lock, and without a wait while another process opens a new file. */
function isMigratedElsewhere(error: unknown): boolean {
  return databaseFailureOf(error) === 'conflict' || (error as { code?: unknown } | undefined)?.code === 'SQLITE_BUSY'
}

/** Returns `database` if the query for the version fails, and `migrations` if the data has another version or no tables. */
export async function missingParts(db: RawDatabase, names: readonly string[]): Promise<MissingPart[]> {
  try {
    return (await findVersion(db, names)) === 'current' ? [] : ['migrations']
  } catch {
    return ['database']
  }
}

type DataVersion = keyof typeof refusals | 'empty' | 'current'

/**
 * Compares the migrations of the data with those of this version, by one query instead of the migrator's several. Data without the
 * table of migrations are empty. Rejects if the query fails for another reason.
 */
async function findVersion(db: RawDatabase, names: readonly string[]): Promise<DataVersion> {
  const query = sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`
  const done = await query.execute(db).then(
    ({ rows }) => rows,
    (error: unknown) => {
      if (!isMissingTable(error)) throw error
      return []
    },
  )
  if (!done.every(({ name }) => names.includes(name))) return 'newer'
  if (done.length === names.length) return 'current'
  return done.length === 0 ? 'empty' : 'older'
}
