import type { Db } from '../../database.ts'
import { rawDatabase } from '../../database.ts'
import type { RegisteredClient } from '../clients.ts'
import { findRegisteredClient } from '../clients.ts'
import type { NewClient, NewSecret } from '../insert-clients.ts'
import { insertClients, insertSecrets } from '../insert-clients.ts'
import { listClientsOf } from '../list-clients.ts'
import { lookupText } from '../lookup-text.ts'

export interface ClientSecret {
  id: string
  createdMs: number
}

/** The clients of one tenant. */
export interface ClientRegistry {
  list(): Promise<RegisteredClient[]>
  count(): Promise<number>
  find(clientId: string): Promise<RegisteredClient | undefined>
  /** Adds a client and returns it. */
  create(client: NewClient): Promise<RegisteredClient>
  setActive(clientId: string, activity: 'active' | 'inactive'): Promise<void>
  /** Makes transactions on one client run one after the other. */
  lock(clientId: string): Promise<void>
  /** Returns the active secrets, oldest first. */
  activeSecrets(clientId: string, nowMs: number): Promise<ClientSecret[]>
  /** Adds a secret to a client that `find` or `create` returned, because the query does not name the tenant. */
  addSecret(client: RegisteredClient, secret: Omit<NewSecret, 'clientId'>): Promise<void>
  retireSecret(clientId: string, secretId: string, nowMs: number): Promise<void>
}

export function clientRegistryOf(handle: Db, tenantId: string): ClientRegistry {
  const db = rawDatabase(handle)
  async function find(clientId: string): Promise<RegisteredClient | undefined> {
    const client = await findRegisteredClient(handle, clientId)
    return client?.tenantId === tenantId ? client : undefined
  }
  function updateOf(clientId: string) {
    return db.updateTable('clients').where('id', '=', lookupText(clientId)).where('tenant_id', '=', tenantId)
  }
  return {
    find,
    list: () => listClientsOf(handle, tenantId),
    async count() {
      const { count } = await db
        .selectFrom('clients')
        .select((select) => select.fn.countAll<number | string | bigint>().as('count'))
        .where('tenant_id', '=', tenantId)
        .executeTakeFirstOrThrow()
      return Number(count)
    },
    async create(client) {
      await insertClients(handle, [{ ...client, tenantId }])
      const { id, name, kind, redirectUris, activity } = client
      return { id, tenantId, name, kind, active: activity !== 'inactive', redirectUris: [...redirectUris] }
    },
    async setActive(clientId, activity) {
      await updateOf(clientId)
        .set({ active: activity === 'active' ? 1 : 0 })
        .execute()
    },
    async lock(clientId) {
      // On PostgreSQL an update locks the row, also if it changes nothing. On libSQL the transaction has the lock to write already.
      await updateOf(clientId).set({ tenant_id: tenantId }).execute()
    },
    ...clientSecretsOf(handle, tenantId),
  }
}

type SecretActions = Pick<ClientRegistry, 'activeSecrets' | 'addSecret' | 'retireSecret'>

function clientSecretsOf(handle: Db, tenantId: string): SecretActions {
  const db = rawDatabase(handle)
  const ownClients = db.selectFrom('clients').select('id').where('tenant_id', '=', tenantId)
  return {
    async activeSecrets(clientId, nowMs) {
      const rows = await db
        .selectFrom('client_secrets')
        .select(['id', 'created_ms'])
        .where('client_id', '=', clientId)
        .where('client_id', 'in', ownClients)
        .where((where) => where.or([where('retired_ms', 'is', null), where('retired_ms', '>', nowMs)]))
        .orderBy('created_ms')
        .execute()
      return rows.map(({ id, created_ms }) => ({ id, createdMs: created_ms }))
    },
    addSecret: (client, secret) => insertSecrets(handle, [{ ...secret, clientId: client.id }]),
    async retireSecret(clientId, secretId, nowMs) {
      await db
        .updateTable('client_secrets')
        .set({ retired_ms: nowMs })
        .where('id', '=', secretId)
        .where('client_id', '=', clientId)
        .where('client_id', 'in', ownClients)
        .where('retired_ms', 'is', null)
        .execute()
    },
  }
}
