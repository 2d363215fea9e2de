import { type PageOrigins, pageOriginsOf } from '../../redirect-uris.ts'
import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { Flag } from '../schema.ts'
import { lookupText } from './lookup-text.ts'

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

export interface ClientRow {
  id: string
  tenant_id: string
  name: string
  kind: 'public' | 'confidential'
  active: Flag
}

export const clientColumns = [
  'clients.id',
  'clients.tenant_id',
  'clients.name',
  'clients.kind',
  'clients.active',
] as const

const client = prepare((db, { id }: Slots<{ id: string }>) =>
  db.selectFrom('clients').select(clientColumns).where('id', '=', id),
)

/** Finds a client with one query, whether it exists or not, because attempts with a secret must take as long for both (S-044). */
export async function findClient(db: Db, clientId: string): Promise<ClientRecord | undefined> {
  const row = await client.first(db, { id: lookupText(clientId) })
  return row === undefined ? undefined : clientOf(row)
}

export function clientOf(row: ClientRow): ClientRecord {
  return { id: row.id, tenantId: row.tenant_id, name: row.name, kind: row.kind, active: row.active === 1 }
}

/** Finds a client with its redirect URIs. Most requests need only the client (`findClient`). */
export async function findRegisteredClient(db: Db, clientId: string): Promise<RegisteredClient | undefined> {
  const found = await findClient(db, clientId)
  return found === undefined ? undefined : { ...found, redirectUris: await findRedirectUris(db, clientId) }
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

/** The reason why a client may not act for a tenant. */
export type ClientRefusal = 'client-inactive' | 'client-not-approved' | 'no-api-surface'
export type Approval = 'approved' | ClientRefusal

const approval = prepare((db, { clientId, tenantId }: Slots<{ clientId: string; tenantId: string }>) =>
  db
    .selectFrom('clients')
    .leftJoin('client_approvals as approval', (join) =>
      join.onRef('approval.client_id', '=', 'clients.id').on('approval.tenant_id', '=', tenantId),
    )
    .select(['clients.active as client_active', 'approval.active as approved', 'approval.surfaces'])
    .where('clients.id', '=', clientId),
)

/** Reads whether a client may act for a tenant, and why not. */
export async function findApproval(db: Db, clientId: string, tenantId: string): Promise<Approval> {
  return approvalOf(await approval.first(db, { clientId, tenantId }))
}

interface ApprovalColumns {
  client_active: Flag | null
  approved: Flag | null
  surfaces: string | null
}

/**
 * Returns whether the client is active, is approved for the tenant and has the api surface (spec 5.1, S-061). Every call of the
 * API, every issue of tokens and every consent reads it.
 */
export function approvalOf(columns: ApprovalColumns | undefined): Approval {
  if (columns?.client_active !== 1) return 'client-inactive'
  if (columns.approved !== 1) return 'client-not-approved'
  return (JSON.parse(columns.surfaces ?? '[]') as string[]).includes('api') ? 'approved' : 'no-api-surface'
}

/** A change of the approval of a client. */
export type ApprovalChange = { approval: 'approved' | 'unapproved' } | { surfaces: readonly string[] }

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
    .where((where) => where.or([where('page_origin', '=', origin), where('page_origin', '=', anyPort)]))
    .limit(1),
)

const clientAt = prepare((db, { clientId, origin, anyPort }: Slots<PageOrigins & { clientId: string }>) =>
  db
    .selectFrom('client_redirect_uris')
    .select('client_id')
    .where('client_id', '=', clientId)
    .where((where) => where.or([where('page_origin', '=', origin), where('page_origin', '=', anyPort)]))
    .limit(1),
)

/**
 * Returns whether the login of some client, or of this one, can end at a page of this origin (S-045). It reads one row by an
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
