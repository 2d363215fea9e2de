import type { Db } from './database.ts'
import { rawDatabase } from './database.ts'
import { queryTraitsOf } from './engine/engine.ts'

/**
 * The tables of data without `agent_trigrams`, which the engine clears in its own way. Children come before parents, because foreign keys
 * refuse the other order. The `grant_id` of
 * `authorization_codes` is no foreign key.
 */
const childrenFirst = [
  'registry_events',
  'context_groups',
  'parent_agents',
  'llm_models',
  'session_tokens',
  'access_tokens',
  'refresh_tokens',
  'grants',
  'authorization_codes',
  'authorization_requests',
  'sign_in_sessions',
  'client_approvals',
  'client_redirect_uris',
  'client_secrets',
  'clients',
  'people',
  'tenants',
] as const

/** Deletes the rows of all tables except `service_keys`, which holds the keys of the service. */
export async function deleteAllData(tx: Db): Promise<void> {
  const db = rawDatabase(tx)
  const { trigrams, deleteRows } = queryTraitsOf(db)
  await trigrams.clear(db)
  await deleteRows(db, childrenFirst)
}
