import { storeLimits } from '../limits.ts'
import {
  findRegisteredClient,
  insertClients,
  insertSecrets,
  listClients,
  type NewClient,
  type NewSecret,
  type RegisteredClient,
} from './clients.ts'
import { type Db, lookupText, rawDatabase, transact } from './database.ts'
import type { RegistryEvent } from './schema.ts'

export interface ClientSecret {
  id: string
  createdMs: number
}

/** One change of the client registry. */
export interface RegistryChange {
  atMs: number
  event: RegistryEvent
  /** The id of a user, or `command line`. `changes` returns the user's email address in its place, if the tenant still has the user. */
  actor: string
  clientId: string
}

/** The actor of a change that the command made, for which no user signed in. */
export const commandLine = 'command line'

/** The clients of one tenant, and their changes, which are kept as long as the data. */
export interface ClientRegistry {
  list(): Promise<RegisteredClient[]>
  count(): Promise<number>
  find(clientId: string): Promise<RegisteredClient | undefined>
  create(client: NewClient): Promise<void>
  setActive(clientId: string, activity: 'active' | 'inactive'): Promise<void>
  /** Makes transactions on one client run one after the other. */
  lock(clientId: string): Promise<void>
  /** Returns the active secrets, oldest first. */
  activeSecrets(clientId: string, nowMs: number): Promise<ClientSecret[]>
  /** Adds a secret to a client that `find` or `create` had, because the query does not name the tenant. */
  addSecret(secret: NewSecret): Promise<void>
  retireSecret(clientId: string, secretId: string, nowMs: number): Promise<void>
  record(change: RegistryChange): Promise<void>
  /** Returns the last changes, newest first, of one client if it is named. */
  changes(clientId?: string): Promise<RegistryChange[]>
  /** Runs `task` in a transaction, all or nothing. After a conflict it runs again. */
  transact<Value>(task: (registry: ClientRegistry) => Promise<Value>): Promise<Value>
}

export function clientRegistryOf(handle: Db, tenantId: string): ClientRegistry {
  const db = rawDatabase(handle)
  const ownClients = db.selectFrom('clients').where('clients.tenant_id', '=', tenantId)
  function updateOf(clientId: string) {
    return db.updateTable('clients').where('id', '=', lookupText(clientId)).where('tenant_id', '=', tenantId)
  }
  return {
    async find(clientId) {
      const client = await findRegisteredClient(handle, clientId)
      return client?.tenantId === tenantId ? client : undefined
    },
    list: () => listClients(handle, tenantId),
    async count() {
      const { count } = await ownClients.select((select) => select.fn.countAll().as('count')).executeTakeFirstOrThrow()
      return Number(count)
    },
    create: (client) => insertClients(handle, [{ ...client, tenantId }]),
    async setActive(clientId, activity) {
      await updateOf(clientId)
        .set({ active: activity === 'active' ? 1 : 0 })
        .execute()
    },
    async lock(clientId) {
      // On PostgreSQL an update locks the row, also if it changes nothing. On libSQL the transaction has the lock to write already.
      await updateOf(clientId).set({ tenant_id: tenantId }).execute()
    },
    async activeSecrets(clientId, nowMs) {
      const rows = await ownClients
        .innerJoin('client_secrets as secret', 'secret.client_id', 'clients.id')
        .select(['secret.id', 'secret.created_ms as createdMs'])
        .where('clients.id', '=', clientId)
        .where((where) => where.or([where('secret.retired_ms', 'is', null), where('secret.retired_ms', '>', nowMs)]))
        .orderBy('secret.created_ms')
        .execute()
      return rows
    },
    addSecret: (secret) => insertSecrets(handle, [secret]),
    async retireSecret(clientId, secretId, nowMs) {
      await db
        .updateTable('client_secrets')
        .set({ retired_ms: nowMs })
        .where('id', '=', secretId)
        .where('client_id', '=', clientId)
        .where('client_id', 'in', ownClients.select('id'))
        .where('retired_ms', 'is', null)
        .execute()
    },
    async record({ atMs, event, actor, clientId }) {
      const row = { at_ms: atMs, event, actor, client_id: clientId, tenant_id: tenantId }
      await db.insertInto('registry_events').values(row).execute()
    },
    changes: (clientId) =>
      db
        .selectFrom('registry_events as change')
        .leftJoin('people', (join) =>
          join.onRef('people.id', '=', 'change.actor').onRef('people.tenant_id', '=', 'change.tenant_id'),
        )
        .select(['change.at_ms as atMs', 'change.event', 'change.client_id as clientId'])
        .select((select) => select.fn.coalesce('people.email', 'change.actor').as('actor'))
        .where('change.tenant_id', '=', tenantId)
        .$if(clientId !== undefined, (own) => own.where('change.client_id', '=', clientId ?? ''))
        .orderBy('change.id', 'desc')
        .limit(storeLimits.registryChanges)
        .execute(),
    transact: (task) => transact(handle, (tx) => task(clientRegistryOf(tx, tenantId))),
  }
}
