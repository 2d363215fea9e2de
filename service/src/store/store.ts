import { setTimeout as sleep } from 'node:timers/promises'
import { DEFAULT_MIGRATION_TABLE, Kysely, type Migration, Migrator, sql } from 'kysely'
import { storeLimits } from '../limits.ts'
import { type Db, opaqueDatabase, type RawDatabase, rawDatabase, type StoreEngine } from './database.ts'
import { databaseFailureOf, isMissingTable } from './failures.ts'
import { libsqlEngine } from './libsql.ts'
import { createFirstTables } from './migrations/001-first-tables.ts'
import { postgresEngine } from './postgres.ts'
import type { Tables } from './schema.ts'

/** The URL or the file of the database. Without both, the data stays in memory. */
export interface StoreLocation {
  readonly databaseUrl: string | undefined
  readonly dataFile: string | undefined
}

export function openEngine({ databaseUrl, dataFile }: StoreLocation): StoreEngine {
  return databaseUrl === undefined ? libsqlEngine(dataFile) : postgresEngine(databaseUrl)
}

export type MissingPart = 'database' | 'migrations'

interface Opening {
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
 * Brings the tables up to date. If another process migrates at the same time on libSQL, it tries again for some seconds. On
 * PostgreSQL it waits for the lock of the `Migrator`. On both engines the function then rejects, with the last error as the cause.
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

/** Creates the tables of a database in memory, which is empty. The `Migrator` would ask it a dozen times what it holds. */
async function createTables(db: RawDatabase, known: Record<string, Migration>): Promise<void> {
  const done = sql.table(DEFAULT_MIGRATION_TABLE)
  await sql`create table ${done} (name text primary key, timestamp text)`.execute(db)
  for (const [name, { up }] of Object.entries(known)) {
    await up(db)
    await sql`insert into ${done} (name) values (${name})`.execute(db)
  }
}

/** SQLite reports `SQLITE_BUSY` after a wait for a lock, and without a wait while another process opens a new file. */
function isMigratedElsewhere(error: unknown): boolean {
  return databaseFailureOf(error) === 'conflict' || (error as { code?: unknown } | undefined)?.code === 'SQLITE_BUSY'
}

/** Returns `database` if the query for the version fails, and `migrations` if the data has another version or no tables. */
async function missingParts(db: RawDatabase, names: readonly string[]): Promise<MissingPart[]> {
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

/** The data of a service, across tenants. A call of the API gets a `TenantStore` in its place. */
export interface Store {
  readonly db: Db
  /**
   * For a reset: locks the rows of `lockedTables`. Agents are not among them: only context groups refer to them,
   * these are added only with a new agent, and a new agent waits for the lock of its tenant.
   */
  lockForReset(tx: Db): Promise<void>
  /**
   * For the dev controls and a new password: waits for every transaction that has written an authorization. Until this transaction
   * ends, no other can write one.
   */
  lockAuthorizations(tx: Db): Promise<void>
  /**
   * For a new password: waits for every transaction that has written a sign-in session. Until this transaction ends, no other can write
   * one, so that none is added and, because each use writes its time, none is used.
   */
  lockSignIns(tx: Db): Promise<void>
  /** Returns what a request would miss: a database that answers, or the tables of this version. */
  missing(): Promise<MissingPart[]>
  /** For rows that were added with ids: agents and models that follow get larger ones. */
  continueIds(tx: Db): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the database and brings its tables up to date. Rejects if one of these fails, and for data of a newer version, which have a
 * migration that this version does not know. With `refuse`, it rejects data of an older version as well, but still makes the tables of an
 * empty database. After a migration, a running older service reports `migrations` in /readyz.
 */
export async function openStore(location: StoreLocation, opening: Opening = { migrations: 'run' }): Promise<Store> {
  const engine = openEngine(location)
  const raw = new Kysely<Tables>({ dialect: engine.kyselyDialect })
  const db = opaqueDatabase(raw)
  const known = migrationsFor(engine)
  try {
    const isInMemory = location.databaseUrl === undefined && location.dataFile === undefined
    await (isInMemory ? createTables(raw, known) : migrate(raw, known, opening))
  } catch (error) {
    await raw.destroy()
    throw error
  }
  return {
    db,
    lockForReset: (tx) => engine.lockRows(rawDatabase(tx), lockedTables),
    continueIds: (tx) => engine.continueIds(rawDatabase(tx), ['llm_models', 'parent_agents']),
    lockAuthorizations: (tx) => engine.lockTable(rawDatabase(tx), 'grants'),
    lockSignIns: (tx) => engine.lockTable(rawDatabase(tx), 'sign_in_sessions'),
    missing: () => missingParts(raw, Object.keys(known)),
    close: () => raw.destroy(),
  }
}

/**
 * Most transactions lock rows in this order. If two wait for each other, the database ends one, and `transact` repeats it.
 */
const lockedTables = [
  'authorization_requests',
  'authorization_codes',
  'clients',
  'people',
  'grants',
  'llm_models',
  'tenants',
] as const
