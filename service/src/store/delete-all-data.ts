import type { Db } from './database.ts'
import { rawDatabase } from './database.ts'
import { queryTraitsOf } from './engine/engine.ts'

/** Children come before parents, because foreign keys refuse the other order. */
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
  await queryTraitsOf(db).deleteRows(db, childrenFirst)
}
