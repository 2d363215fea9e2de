import type { Selectable } from 'kysely'
import { type Db, type RawDatabase, rawDatabase } from './database.ts'
import type { Tables } from './schema.ts'

type Row<Table extends keyof Tables> = Selectable<Tables[Table]>

/**
 * The rows from which a seed is made. Sign-ins, authorizations, tokens and the history of
 * clients are not among them.
 */
export interface SeedRows {
  keys: Row<'service_keys'>[]
  tenants: Row<'tenants'>[]
  people: Row<'people'>[]
  clients: Row<'clients'>[]
  redirectUris: Row<'client_redirect_uris'>[]
  approvals: Row<'client_approvals'>[]
  /** Active ones, oldest first. */
  secrets: Row<'client_secrets'>[]
  models: Row<'llm_models'>[]
  agents: Row<'parent_agents'>[]
  contextGroups: Row<'context_groups'>[]
}

/**
 * Reads the rows of a seed as they were at one moment. The same data give the same export. The export groups redirect
 * URIs by client, so they are ordered only within a client. It looks up the one approval of each client, so approvals have no order.
 * The transaction is read-only. One that may write would lock the data file, so that a running service could not write to it until the
 * end.
 */
export function readSeedRows(db: Db, nowMs: number): Promise<SeedRows> {
  const reading = rawDatabase(db).transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return reading.execute((tx) => readRows(tx, nowMs))
}

async function readRows(tx: RawDatabase, nowMs: number): Promise<SeedRows> {
  return {
    keys: await tx.selectFrom('service_keys').selectAll().orderBy('name').execute(),
    tenants: await tx.selectFrom('tenants').selectAll().orderBy('id').execute(),
    people: await tx.selectFrom('people').selectAll().orderBy('position').orderBy('id').execute(),
    clients: await tx.selectFrom('clients').selectAll().orderBy('position').orderBy('id').execute(),
    redirectUris: await tx.selectFrom('client_redirect_uris').selectAll().orderBy('position').execute(),
    approvals: await tx.selectFrom('client_approvals').selectAll().execute(),
    secrets: await tx
      .selectFrom('client_secrets')
      .selectAll()
      .where((where) => where.or([where('retired_ms', 'is', null), where('retired_ms', '>', nowMs)]))
      .orderBy('created_ms')
      .orderBy('id')
      .execute(),
    models: await tx.selectFrom('llm_models').selectAll().orderBy('id').execute(),
    agents: await tx.selectFrom('parent_agents').selectAll().orderBy('id').execute(),
    contextGroups: await tx.selectFrom('context_groups').selectAll().orderBy('agent_id').orderBy('position').execute(),
  }
}
