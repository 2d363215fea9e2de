import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'

/** Children before parents, because foreign keys refuse the other order. */
const everyTable = [
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

/** Deletes every row but the service's own keys. */
export async function emptyEveryTable(tx: Db): Promise<void> {
  for (const table of everyTable) await rawDatabase(tx).deleteFrom(table).execute()
}
