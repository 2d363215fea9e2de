import { DEFAULT_MIGRATION_TABLE, Kysely, Migrator, sql } from 'kysely'
import type { StoreDialect } from './engine/dialect.ts'
import type { StoreLocation } from './engine/open-dialect.ts'
import { openDialect } from './engine/open-dialect.ts'
import { migrations } from './migrations/migrations.ts'
import type { Tables } from './schema.ts'

/** A connection or an open transaction: queries take either. */
export type Db = Kysely<Tables>

export interface Store {
  readonly db: Db
  /** Until the transaction ends nothing is added that belongs to a tenant, a person, a client or a grant of now. */
  lockEverything(tx: Db): Promise<void>
  /** Waits for every transaction that writes a grant, a new one too, and lets none begin until this one ends. */
  lockGrants(tx: Db): Promise<void>
  close(): Promise<void>
}

export async function openStore(location: StoreLocation): Promise<Store> {
  const dialect = await openDialect(location)
  const db = new Kysely<Tables>({ dialect: dialect.dialect })
  const known = migrations(dialect)
  if (!(await isUpToDate(db, Object.keys(known)))) {
    const migrator = new Migrator({ db, provider: { getMigrations: async () => known } })
    const { error } = await migrator.migrateToLatest()
    if (error !== undefined) {
      await db.destroy()
      throw new Error('the database could not be brought up to date', { cause: error })
    }
  }
  return {
    db,
    lockEverything: (tx) => lockEverything(tx, dialect),
    lockGrants: (tx) => dialect.lockTable(tx, 'grants'),
    close: () => db.destroy(),
  }
}

/** In the order in which everybody else locks rows, or two transactions would wait for each other. */
const lockedTables = [
  'authorization_requests',
  'authorization_codes',
  'clients',
  'people',
  'grants',
  'llm_models',
  'tenants',
] as const

async function lockEverything(tx: Db, { lockRows }: StoreDialect): Promise<void> {
  for (const table of lockedTables) await lockRows(tx, table)
}

/** One query instead of the migrator's look at every table. Whatever it fails with, the migrator says what is the matter. */
async function isUpToDate(db: Db, names: readonly string[]): Promise<boolean> {
  const done = await sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(db).then(
    ({ rows }) => rows,
    () => [],
  )
  return done.length === names.length && done.every(({ name }) => names.includes(name))
}
