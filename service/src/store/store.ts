import { Kysely } from 'kysely'
import type { Db } from './database.ts'
import { opaqueDatabase, rawDatabase } from './database.ts'
import type { StoreLocation } from './engine/open-engine.ts'
import { openEngine } from './engine/open-engine.ts'
import type { MissingPart, Opening } from './migrate.ts'
import { migrate, migrationsFor, missingParts } from './migrate.ts'
import type { Tables } from './schema.ts'
import type { TenantStore } from './tenant-store.ts'
import { tenantStore } from './tenant-store.ts'

export type { Db } from './database.ts'

/**
 * The data of a service. A call of the API reaches the data of its tenant through `forTenant` only. Logins, the command, resets and
 * exports work across tenants.
 */
export interface Store {
  /** For the functions of `tables/` about users, clients, logins and tokens. */
  readonly db: Db
  forTenant(tenantId: string): TenantStore
  /**
   * For a reset (seed/fill-database.ts): locks the rows of `lockedTables`. Agents are not among them: only context groups refer to them,
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
  const engine = await openEngine(location)
  const raw = new Kysely<Tables>({ dialect: engine.kyselyDialect })
  const db = opaqueDatabase(raw)
  const known = migrationsFor(engine)
  try {
    await migrate(raw, known, opening)
  } catch (error) {
    await raw.destroy()
    throw error
  }
  return {
    db,
    forTenant: (tenantId) => tenantStore(db, tenantId),
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
