import { registeredPageOrigin } from '../../redirect-uris.ts'
import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'
import { partsOf } from '../engine/split-rows.ts'
import type { Flag } from '../schema.ts'

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
