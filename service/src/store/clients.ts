import type { InferResult } from 'kysely'
import { type PageOrigins, pageOriginsOf, registeredPageOrigin } from '../redirect-uris.ts'
import { type Db, lookupText, partsOf, prepare, type RawDatabase, rawDatabase, type Slots } from './database.ts'
import type { Flag, Tables } from './schema.ts'

export interface ClientRecord {
  id: string
  tenantId: string
  name: string
  kind: 'public' | 'confidential'
  active: boolean
}

export interface RegisteredClient extends ClientRecord {
  redirectUris: string[]
}

const clientColumns = ['clients.id', 'clients.tenant_id', 'clients.name', 'clients.kind', 'clients.active'] as const

const client = prepare((db, { id }: Slots<{ id: string }>) =>
  db.selectFrom('clients').select(clientColumns).where('id', '=', id),
)

/** Finds a client with one query, whether it exists or not, because attempts with a secret must take as long for both. */
export async function findClient(db: Db, clientId: string): Promise<ClientRecord | undefined> {
  const row = await client.first(db, { id: lookupText(clientId) })
  return row === undefined ? undefined : clientOf(row)
}

type ClientRow = Pick<Tables['clients'], 'id' | 'tenant_id' | 'name' | 'kind' | 'active'>

function clientOf(row: ClientRow): ClientRecord {
  return { id: row.id, tenantId: row.tenant_id, name: row.name, kind: row.kind, active: row.active === 1 }
}

const registeredClient = prepare((db, { id }: Slots<{ id: string }>) =>
  selectRegisteredClients(db).where('clients.id', '=', id),
)

/** Finds a client with its redirect URIs. Most requests need only the client (`findClient`). */
export async function findRegisteredClient(db: Db, clientId: string): Promise<RegisteredClient | undefined> {
  return registeredClientsOf(await registeredClient.all(db, { id: lookupText(clientId) }))[0]
}

const secretHashes = prepare((db, { clientId, nowMs }: Slots<{ clientId: string; nowMs: number }>) =>
  db
    .selectFrom('client_secrets')
    .select('secret_hash')
    .where('client_id', '=', clientId)
    .where((where) => where.or([where('retired_ms', 'is', null), where('retired_ms', '>', nowMs)])),
)

/** Finds the hashes of the active secrets. There are two while one replaces the other. */
export async function findSecretHashes(db: Db, clientId: string, nowMs: number): Promise<string[]> {
  const rows = await secretHashes.all(db, { clientId: lookupText(clientId), nowMs })
  return rows.map((row) => row.secret_hash)
}

/** A change of the approval of a client. */
type ApprovalChange = { approval: 'approved' | 'unapproved' } | { surfaces: readonly string[] }

/**
 * Changes the approval of the clients with this id or name. `unknown` means that there is none. A client has one approval, that of its
 * own tenant, so no tenant is named.
 */
export async function changeApproval(tx: Db, idOrName: string, change: ApprovalChange): Promise<'changed' | 'unknown'> {
  const values =
    'surfaces' in change
      ? { surfaces: JSON.stringify(change.surfaces) }
      : { active: change.approval === 'approved' ? (1 as const) : (0 as const) }
  const text = lookupText(idOrName)
  const { numUpdatedRows } = await rawDatabase(tx)
    .updateTable('client_approvals')
    .set(values)
    .where('client_id', 'in', (select) =>
      select
        .selectFrom('clients')
        .select('id')
        .where((where) => where.or([where('id', '=', text), where('name', '=', text)])),
    )
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 0n ? 'unknown' : 'changed'
}

const anyClientAt = prepare((db, { origin, anyPort }: Slots<PageOrigins>) =>
  db
    .selectFrom('client_redirect_uris')
    .select('client_id')
    .where((where) => where.or([where('page_origin', '=', origin), where('page_origin', '=', anyPort)])),
)

const clientAt = prepare((db, { clientId, origin, anyPort }: Slots<PageOrigins & { clientId: string }>) =>
  db
    .selectFrom('client_redirect_uris')
    .select('client_id')
    .where('client_id', '=', clientId)
    .where((where) => where.or([where('page_origin', '=', origin), where('page_origin', '=', anyPort)])),
)

/**
 * Returns whether the login of some client, or of this one, can end at a page of this origin. It reads one row by an
 * index, because each CORS check asks and the clients of a tenant can have 10,000 redirect URIs.
 */
export async function isRegisteredOrigin(db: Db, pageOrigin: string, clientId?: string): Promise<boolean> {
  const origins = pageOriginsOf(pageOrigin)
  if (origins === undefined) return false
  const row =
    clientId === undefined ? await anyClientAt.first(db, origins) : await clientAt.first(db, { ...origins, clientId })
  return row !== undefined
}

const redirectUris = prepare((db, { clientId }: Slots<{ clientId: string }>) =>
  db.selectFrom('client_redirect_uris').select('redirect_uri').where('client_id', '=', clientId).orderBy('position'),
)

/** Finds the redirect URIs of one client, in the order of its registration. */
export async function findRedirectUris(db: Db, clientId: string): Promise<string[]> {
  const rows = await redirectUris.all(db, { clientId: lookupText(clientId) })
  return rows.map((row) => row.redirect_uri)
}

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

/** Adds clients in this order, after the existing ones. */
export async function insertClients(tx: Db, clients: readonly (NewClient & { tenantId: string })[]): Promise<void> {
  const db = rawDatabase(tx)
  const { last } = await db
    .selectFrom('clients')
    .select((select) => select.fn.max('position').as('last'))
    .executeTakeFirstOrThrow()
  const next = last === null ? 0 : Number(last) + 1
  const rows = clients.map(({ id, tenantId, name, kind, activity }, index) => {
    return { id, tenant_id: tenantId, name, kind, active: flag(activity !== 'inactive'), position: next + index }
  })
  for (const part of partsOf(rows)) await db.insertInto('clients').values(part).execute()
  const uris = clients.flatMap(({ id, kind, redirectUris }) =>
    redirectUris.map((uri, position) => {
      return { client_id: id, redirect_uri: uri, position, page_origin: registeredPageOrigin(uri, kind) }
    }),
  )
  for (const part of partsOf(uris)) await db.insertInto('client_redirect_uris').values(part).execute()
  const approvals = clients.map(({ id, tenantId, approval, surfaces = ['api'] }) => {
    const active = flag(approval !== 'unapproved')
    return { client_id: id, tenant_id: tenantId, active, surfaces: JSON.stringify(surfaces) }
  })
  for (const part of partsOf(approvals)) await db.insertInto('client_approvals').values(part).execute()
}

export interface NewSecret {
  id: string
  clientId: string
  hash: string
  createdMs: number
}

export async function insertSecrets(tx: Db, secrets: readonly NewSecret[]): Promise<void> {
  const rows = secrets.map(({ id, clientId, hash, createdMs }) => {
    return { id, client_id: clientId, secret_hash: hash, created_ms: createdMs, retired_ms: null }
  })
  for (const part of partsOf(rows)) await rawDatabase(tx).insertInto('client_secrets').values(part).execute()
}

function flag(isSet: boolean): Flag {
  return isSet ? 1 : 0
}

/** Lists the clients, of one tenant if it is named, with their redirect URIs, in the order in which they were added. */
export async function listClients(db: Db, tenantId?: string): Promise<RegisteredClient[]> {
  const all = selectRegisteredClients(rawDatabase(db))
  return registeredClientsOf(
    await (tenantId === undefined ? all : all.where('clients.tenant_id', '=', tenantId)).execute(),
  )
}

function selectRegisteredClients(db: RawDatabase) {
  return db
    .selectFrom('clients')
    .select(clientColumns)
    .leftJoin('client_redirect_uris as uri', 'uri.client_id', 'clients.id')
    .select('uri.redirect_uri')
    .orderBy('clients.position')
    .orderBy('uri.position')
}

/** Returns the clients of rows of which each has one redirect URI, or none if the client has none. */
function registeredClientsOf(rows: InferResult<ReturnType<typeof selectRegisteredClients>>): RegisteredClient[] {
  const clients = new Map<string, RegisteredClient>()
  for (const row of rows) {
    const listed = clients.get(row.id) ?? { ...clientOf(row), redirectUris: [] }
    if (row.redirect_uri !== null) listed.redirectUris.push(row.redirect_uri)
    clients.set(row.id, listed)
  }
  return [...clients.values()]
}
