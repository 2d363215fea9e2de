import { setTimeout as sleep } from 'node:timers/promises'
import { DEFAULT_MIGRATION_TABLE, Kysely, type Migration, Migrator, sql } from 'kysely'
import { storeLimits } from '../limits.ts'
import type { Db, RawDatabase } from './database.ts'
import { opaqueDatabase, rawDatabase } from './database.ts'
import type { PoolFigures, StoreEngine } from './engine/engine.ts'
import { databaseFailureOf } from './engine/failures.ts'
import type { StoreLocation } from './engine/open-engine.ts'
import { openEngine } from './engine/open-engine.ts'
import { indexAgents } from './index-agents.ts'
import { migrations } from './migrations/migrations.ts'
import type { Tables } from './schema.ts'
import type { TenantStore } from './tenant-store.ts'
import { tenantStore } from './tenant-store.ts'

export type { Db } from './database.ts'

/** The data of a service. What belongs to one tenant is reached through `forTenant` only. */
export interface Store {
  /** For the functions of `tables/` about users, clients, logins and tokens. */
  readonly db: Db
  forTenant(tenantId: string): TenantStore
  /**
   * For a reset (seed/fill-database.ts): locks the rows that other transactions lock or refer to. Agents need no lock, because each
   * new context group comes with a new agent, which the lock of its tenant stops.
   */
  lockForReset(tx: Db): Promise<void>
  /**
   * For the dev controls and a new password: waits for every transaction that has written an authorization. Until this transaction
   * ends, no other can write one.
   */
  lockAuthorizations(tx: Db): Promise<void>
  /** For a new password: lets no other transaction add a sign-in session until this one ends. */
  lockSignIns(tx: Db): Promise<void>
  /** Returns what a request would miss: a database that answers, or the tables of this version. */
  missing(): Promise<MissingPart[]>
  /** Returns the connections of a pool, if the engine has one. */
  connections(): PoolFigures | undefined
  /** For rows that were added with ids: agents and models that follow get larger ones. */
  continueIds(tx: Db): Promise<void>
  close(): Promise<void>
}

export type MissingPart = 'database' | 'migrations'

interface Opening {
  /**
   * `refuse` rejects data of an older version, because a running older service would not be ready after a migration. Empty data
   * migrates.
   */
  migrations: 'run' | 'refuse'
}

/**
 * Opens the database and brings its tables up to date. After that, a running older service reports `migrations` in /readyz. Rejects
 * if either fails, and if the data has a migration that this version does not know (a rollback).
 */
export async function openStore(location: StoreLocation, opening: Opening = { migrations: 'run' }): Promise<Store> {
  const engine = await openEngine(location)
  const raw = new Kysely<Tables>({ dialect: engine.kyselyDialect })
  const db = opaqueDatabase(raw)
  const known = migrations(engine)
  try {
    await migrate(raw, known, opening)
    if (opening.migrations === 'run') await indexAgents(db)
  } catch (error) {
    await raw.destroy()
    throw error
  }
  return {
    db,
    forTenant: (tenantId) => tenantStore(db, tenantId),
    lockForReset: (tx) => lockForReset(rawDatabase(tx), engine),
    async continueIds(tx) {
      for (const table of ['llm_models', 'parent_agents'] as const) await engine.continueIds(rawDatabase(tx), table)
    },
    lockAuthorizations: (tx) => engine.lockTable(rawDatabase(tx), 'grants'),
    lockSignIns: (tx) => engine.lockTable(rawDatabase(tx), 'sign_in_sessions'),
    missing: () => missingParts(raw, Object.keys(known)),
    connections: () => engine.connections(),
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

async function lockForReset(tx: RawDatabase, { lockRows }: StoreEngine): Promise<void> {
  for (const table of lockedTables) await lockRows(tx, table)
}

const refusals = {
  older: 'the data is of an older version of agent-service; use that version, or start this one on it first',
  newer: 'the data is of a newer version of agent-service; start that version, or choose other data',
} as const

/**
 * Brings the tables up to date. If another process migrates at the same time, it tries again after `migrationPauseMs`, 100 ms, for
 * `migrationMs`, 5 s at most. Then it rejects, with the last error as the cause.
 */
async function migrate(
  db: RawDatabase,
  known: Record<string, Migration>,
  { migrations: mode }: Opening,
): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => known } })
  const giveUpAtMs = performance.now() + storeLimits.migrationMs
  for (;;) {
    const version = await findVersion(db, Object.keys(known))
    if (version === 'current') return
    if (version === 'newer' || (version === 'older' && mode === 'refuse')) throw new Error(refusals[version])
    const { error } = await migrator.migrateToLatest()
    if (error === undefined) return
    if (!isMigratedElsewhere(error) || performance.now() > giveUpAtMs)
      throw new Error('the database could not be brought up to date', { cause: error })
    await sleep(storeLimits.migrationPauseMs)
  }
}

/** SQLite says `SQLITE_BUSY` for a lock that it waited for, and also for a file that another process opens first. */
function isMigratedElsewhere(error: unknown): boolean {
  return databaseFailureOf(error) === 'conflict' || (error as { code?: unknown } | undefined)?.code === 'SQLITE_BUSY'
}

async function missingParts(db: RawDatabase, names: readonly string[]): Promise<MissingPart[]> {
  try {
    await sql`select 1`.execute(db)
  } catch {
    return ['database']
  }
  return (await findVersion(db, names)) === 'current' ? [] : ['migrations']
}

type DataVersion = keyof typeof refusals | 'empty' | 'current'

/**
 * Compares the migrations of the data with those of this version, by one query instead of the migrator's several. If the query
 * fails, the data counts as without migrations. At a start the migrator then reports the reason.
 */
async function findVersion(db: RawDatabase, names: readonly string[]): Promise<DataVersion> {
  const done = await sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(db).then(
    ({ rows }) => rows,
    () => [],
  )
  if (!done.every(({ name }) => names.includes(name))) return 'newer'
  if (done.length === names.length) return 'current'
  return done.length === 0 ? 'empty' : 'older'
}
