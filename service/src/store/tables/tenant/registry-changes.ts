import { storeLimits } from '../../../limits.ts'
import type { RegistryEvent } from '../../../state/journal.ts'
import type { RawDatabase } from '../../database.ts'

/** One change of the client registry. */
export interface RegistryChange {
  atMs: number
  event: RegistryEvent
  /** The id of a user, or `command line`. `list` returns the user's email address in its place, if the tenant still has the user. */
  actor: string
  clientId: string
}

/** The actor of a change that the command made, for which no user signed in. */
export const commandLine = 'command line'

/** The changes of one tenant's clients, which are kept as long as the data. */
export interface RegistryChanges {
  add(change: RegistryChange): Promise<void>
  /** Returns the last changes (`registryChanges`, 100; A-65), newest first, of one client if it is named. */
  list(clientId?: string): Promise<RegistryChange[]>
}

export function registryChangesOf(db: RawDatabase, tenantId: string): RegistryChanges {
  return {
    async add({ atMs, event, actor, clientId }) {
      const row = { at_ms: atMs, event, actor, client_id: clientId, tenant_id: tenantId }
      await db.insertInto('registry_events').values(row).execute()
    },
    async list(clientId) {
      let query = db.selectFrom('registry_events').selectAll().where('tenant_id', '=', tenantId)
      if (clientId !== undefined) query = query.where('client_id', '=', clientId)
      const rows = await query.orderBy('id', 'desc').limit(storeLimits.registryChanges).execute()
      const people = await db.selectFrom('people').select(['id', 'email']).where('tenant_id', '=', tenantId).execute()
      return rows.map(({ at_ms, event, actor, client_id }) => ({
        atMs: at_ms,
        event,
        actor: people.find(({ id }) => id === actor)?.email ?? actor,
        clientId: client_id,
      }))
    },
  }
}
