import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { Approval } from './clients.ts'
import { approvalOf } from './clients.ts'

/** The account of a valid bearer token and, for an OAuth access token, the client that acts for it. */
export interface Bearer {
  personId: string
  tenantId: string
  permissions: string[]
  billing: 'active' | 'inactive'
  /** Absent for a user session token, which belongs to no client. */
  client?: { id: string; approval: Approval }
}

interface NewAccessToken {
  hash: string
  authorizationId: string
  expiresMs: number
}

const insertAccessToken = prepare((db, { hash, authorizationId, expiresMs }: Slots<NewAccessToken>) =>
  db.insertInto('access_tokens').values({ hash, grant_id: authorizationId, expires_ms: expiresMs }),
)

export async function saveAccessToken(db: Db, token: NewAccessToken): Promise<void> {
  await insertAccessToken.run(db, token)
}

/** Makes every access token of the database expired. */
export async function expireEveryAccessToken(db: Db, nowMs: number): Promise<void> {
  await rawDatabase(db)
    .updateTable('access_tokens')
    .set({ expires_ms: nowMs })
    .where('expires_ms', '>', nowMs)
    .execute()
}

interface Presented {
  hash: string
  nowMs: number
}

const liveAccessToken = prepare((db, { hash, nowMs }: Slots<Presented>) =>
  db
    .selectFrom('access_tokens as token')
    .innerJoin('grants', 'grants.id', 'token.grant_id')
    .innerJoin('people', 'people.id', 'grants.person_id')
    .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
    .innerJoin('clients', 'clients.id', 'grants.client_id')
    .leftJoin('client_approvals as approval', (join) =>
      join.onRef('approval.client_id', '=', 'grants.client_id').onRef('approval.tenant_id', '=', 'grants.tenant_id'),
    )
    .select(['people.id', 'people.tenant_id', 'people.permissions', 'tenants.billing_active'])
    .select(['clients.id as client_id', 'clients.active as client_active'])
    .select(['approval.active as approved', 'approval.surfaces'])
    .where('token.hash', '=', hash)
    .where('token.expires_ms', '>', nowMs)
    .where('grants.revoked_ms', 'is', null)
    .where('people.active', '=', 1)
    .where('tenants.active', '=', 1),
)

/**
 * Finds the bearer of an OAuth access token. Each call reads it, so that a revocation or an inactive account (401) and the end of an
 * approval or of a client (403, by `client.approval`) take effect with the next request (S-054). This function does not
 * compare the tenant of the authorization with the tenant of the account. `findBearer` (api/check-bearer-token.ts) compares the `tenant`
 * claim of the signed token with the tenant of the account.
 */
export async function findBearerOfAccessToken(db: Db, hash: string, nowMs: number): Promise<Bearer | undefined> {
  const row = await liveAccessToken.first(db, { hash, nowMs })
  if (row === undefined) return undefined
  return { ...bearerOf(row), client: { id: row.client_id, approval: approvalOf(row) } }
}

interface NewSessionToken {
  hash: string
  personId: string
  expiresMs: number
}

export async function saveSessionToken(db: Db, { hash, personId, expiresMs }: NewSessionToken): Promise<void> {
  await rawDatabase(db)
    .insertInto('session_tokens')
    .values({ hash, person_id: personId, expires_ms: expiresMs })
    .execute()
}

/** Finds the bearer of a user session token, which belongs to no client. */
export async function findBearerOfSessionToken(db: Db, hash: string, nowMs: number): Promise<Bearer | undefined> {
  const row = await rawDatabase(db)
    .selectFrom('session_tokens as token')
    .innerJoin('people', 'people.id', 'token.person_id')
    .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
    .select(['people.id', 'people.tenant_id', 'people.permissions', 'tenants.billing_active'])
    .where('token.hash', '=', hash)
    .where('token.expires_ms', '>', nowMs)
    .where('people.active', '=', 1)
    .where('tenants.active', '=', 1)
    .executeTakeFirst()
  return row === undefined ? undefined : bearerOf(row)
}

function bearerOf(row: { id: string; tenant_id: string; permissions: string; billing_active: 0 | 1 }): Bearer {
  return {
    personId: row.id,
    tenantId: row.tenant_id,
    permissions: JSON.parse(row.permissions),
    billing: row.billing_active === 1 ? 'active' : 'inactive',
  }
}
