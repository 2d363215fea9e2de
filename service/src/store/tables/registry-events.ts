import type { RegistryEvent } from '../../state/journal.ts'
import type { Db } from '../store.ts'

/** One change of the registry. The actor is a person's email address, or the command line. */
export interface RegistryChange {
  atMs: number
  event: RegistryEvent
  actor: string
  clientId: string
}

/** What stands for the actor when the data was changed without signing in. */
export const commandLine = 'command line'

//
const mostShown = 100

export async function addRegistryChange(
  db: Db,
  { tenantId, atMs, event, actor, clientId }: RegistryChange & { tenantId: string },
): Promise<void> {
  const row = { at_ms: atMs, event, actor, client_id: clientId, tenant_id: tenantId }
  await db.insertInto('registry_events').values(row).execute()
}

/** The latest changes of a tenant, newest first; of one client when it is named. */
export async function listRegistryChanges(db: Db, tenantId: string, clientId?: string): Promise<RegistryChange[]> {
  let query = db.selectFrom('registry_events').selectAll().where('tenant_id', '=', tenantId)
  if (clientId !== undefined) query = query.where('client_id', '=', clientId)
  const rows = await query.orderBy('id', 'desc').limit(mostShown).execute()
  const people = await db.selectFrom('people').select(['id', 'email']).where('tenant_id', '=', tenantId).execute()
  return rows.map(({ at_ms, event, actor, client_id }) => ({
    atMs: at_ms,
    event,
    actor: people.find(({ id }) => id === actor)?.email ?? actor,
    clientId: client_id,
  }))
}
