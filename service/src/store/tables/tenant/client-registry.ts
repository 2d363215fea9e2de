import { registeredPageOrigin } from '../../../redirect-uris.ts'
import type { Db, RawDatabase } from '../../database.ts'
import { rawDatabase } from '../../database.ts'
import type { Flag } from '../../schema.ts'
import type { RegisteredClient } from '../clients.ts'
import { findRegisteredClient } from '../clients.ts'
import { lookupText } from '../lookup-text.ts'

export interface NewClient {
  id: string
  name: string
  kind: 'public' | 'confidential'
  redirectUris: readonly string[]
  /** Default: active, approved by its own tenant, with the api surface. */
  activity?: 'active' | 'inactive'
  approval?: 'approved' | 'unapproved'
  surfaces?: readonly string[]
}

export interface ClientSecret {
  id: string
  createdMs: number
}

interface NewSecret extends ClientSecret {
  hash: string
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
  addSecret(client: RegisteredClient, secret: NewSecret): Promise<void>
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
    async list() {
      const rows = await db
        .selectFrom('clients')
        .select('id')
        .where('tenant_id', '=', tenantId)
        .orderBy('position')
        .execute()
      const clients = await Promise.all(rows.map(({ id }) => find(id)))
      return clients.filter((client) => client !== undefined)
    },
    async count() {
      const { count } = await db
        .selectFrom('clients')
        .select((select) => select.fn.countAll<number | string | bigint>().as('count'))
        .where('tenant_id', '=', tenantId)
        .executeTakeFirstOrThrow()
      return Number(count)
    },
    create: (client) => insertClient(db, tenantId, client),
    async setActive(clientId, activity) {
      await updateOf(clientId)
        .set({ active: activity === 'active' ? 1 : 0 })
        .execute()
    },
    async lock(clientId) {
      // On PostgreSQL an update locks the row, also if it changes nothing. On libSQL the transaction has the lock to write already.
      await updateOf(clientId).set({ tenant_id: tenantId }).execute()
    },
    ...clientSecretsOf(db, tenantId),
  }
}

type SecretActions = Pick<ClientRegistry, 'activeSecrets' | 'addSecret' | 'retireSecret'>

function clientSecretsOf(db: RawDatabase, tenantId: string): SecretActions {
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
    async addSecret(client, { id, hash, createdMs }) {
      const row = { id, client_id: client.id, secret_hash: hash, created_ms: createdMs, retired_ms: null }
      await db.insertInto('client_secrets').values(row).execute()
    },
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

async function insertClient(
  db: RawDatabase,
  tenantId: string,
  { id, name, kind, redirectUris, activity = 'active', approval: state = 'approved', surfaces = ['api'] }: NewClient,
): Promise<RegisteredClient> {
  const { last } = await db
    .selectFrom('clients')
    .select((select) => select.fn.max('position').as('last'))
    .executeTakeFirstOrThrow()
  const position = last === null ? 0 : Number(last) + 1
  const active = activity === 'active' ? 1 : 0
  await db.insertInto('clients').values({ id, tenant_id: tenantId, name, kind, active, position }).execute()
  const uris = redirectUris.map((uri, index) => ({
    client_id: id,
    redirect_uri: uri,
    position: index,
    page_origin: registeredPageOrigin(uri, kind),
  }))
  await db.insertInto('client_redirect_uris').values(uris).execute()
  const approved: Flag = state === 'approved' ? 1 : 0
  const approval = { client_id: id, tenant_id: tenantId, active: approved, surfaces: JSON.stringify(surfaces) }
  await db.insertInto('client_approvals').values(approval).execute()
  return { id, tenantId, name, kind, active: active === 1, redirectUris: [...redirectUris] }
}
