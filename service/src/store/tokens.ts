import { type Db, prepare, queryTraitsOf, type RawDatabase, rawDatabase, type Slots } from './database.ts'
import type { Flag } from './schema.ts'

/** The reason why a client may not act for a tenant. */
export type ClientRefusal = 'client-inactive' | 'client-not-approved' | 'no-api-surface'
export type Approval = 'approved' | ClientRefusal

interface ApprovalColumns {
  client_active: Flag | null
  approved: Flag | null
  surfaces: string | null
}

/**
 * Returns whether the client is active, is approved for the tenant and has the api surface (spec 5.1). Every call of the
 * API, every issue of tokens and every consent reads it.
 */
export function approvalOf({ client_active, approved, surfaces }: ApprovalColumns): Approval {
  if (client_active !== 1) return 'client-inactive'
  if (approved !== 1) return 'client-not-approved'
  return (JSON.parse(surfaces ?? '[]') as string[]).includes('api') ? 'approved' : 'no-api-surface'
}

const clientForTenant = prepare((db, { clientId, tenantId }: Slots<{ clientId: string; tenantId: string }>) =>
  db
    .selectFrom('clients')
    .leftJoin('client_approvals as approval', (join) =>
      join.onRef('approval.client_id', '=', 'clients.id').on('approval.tenant_id', '=', tenantId),
    )
    .select(['clients.name', 'clients.active as client_active', 'approval.active as approved', 'approval.surfaces'])
    .where('clients.id', '=', clientId),
)

/** The name of a client, and whether it may act for a tenant. */
export interface ClientForTenant {
  name: string
  approval: Approval
}

export async function findApproval(db: Db, clientId: string, tenantId: string): Promise<ClientForTenant | undefined> {
  const row = await clientForTenant.first(db, { clientId, tenantId })
  return row && { name: row.name, approval: approvalOf(row) }
}

interface Parties {
  clientId: string
  personId: string
  tenantId: string
}

/** The permissions that new tokens of an authorization carry, or the reason why there are no new tokens. */
type TokenEligibility = { email: string; name: string; permissions: string[] } | Ineligible
/** `account-inactive` also covers a user who moved to another tenant, and a user of an inactive tenant. */
type Ineligible = 'account-inactive' | ClientRefusal

const eligibilityColumns = [
  ...(['people.tenant_id', 'people.email', 'people.name', 'people.permissions', 'people.active'] as const),
  ...(['tenants.active as tenant_active', 'clients.active as client_active'] as const),
  ...(['approval.active as approved', 'approval.surfaces'] as const),
]

const eligibility = prepare((db, { clientId, personId, tenantId }: Slots<Parties>) =>
  db
    .selectFrom('people')
    .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
    .leftJoin('clients', (join) => join.on('clients.id', '=', clientId))
    .leftJoin('client_approvals as approval', (join) =>
      join.onRef('approval.client_id', '=', 'clients.id').on('approval.tenant_id', '=', tenantId),
    )
    .select(eligibilityColumns)
    .where('people.id', '=', personId),
)

type EligibilityRow = NonNullable<Awaited<ReturnType<typeof eligibility.first>>>

/** A user that is gone counts before the approval, and an inactive one after it. */
function eligibilityOf(row: EligibilityRow, tenantId: string): TokenEligibility {
  const approval = approvalOf(row)
  if (approval !== 'approved') return approval
  const isActive = row.active === 1 && row.tenant_active === 1 && row.tenant_id === tenantId
  const { email, name } = row
  return isActive ? { email, name, permissions: JSON.parse(row.permissions) } : 'account-inactive'
}

/** Reads user, tenant, client and approval in one query. */
export async function findEligibility(db: Db, parties: Parties): Promise<TokenEligibility> {
  const row = await eligibility.first(db, parties)
  return row === undefined ? 'account-inactive' : eligibilityOf(row, parties.tenantId)
}

interface NewCode {
  hash: string
  clientId: string
  redirectUri: string
  codeChallenge: string | null
  personId: string
  tenantId: string
  scope: string
  expiresMs: number
}

export interface AuthorizationCode extends NewCode {
  /** How often the code was presented, this time included. */
  attempts: number
  usedMs: number | null
  authorizationId: string | null
}

export const saveCode = prepare((db, code: Slots<NewCode>) =>
  db.insertInto('authorization_codes').values({
    hash: code.hash,
    client_id: code.clientId,
    redirect_uri: code.redirectUri,
    code_challenge: code.codeChallenge,
    person_id: code.personId,
    tenant_id: code.tenantId,
    scope: code.scope,
    expires_ms: code.expiresMs,
    attempts: 0,
    used_ms: null,
    grant_id: null,
    keep_until_ms: code.expiresMs,
  }),
).run

/** Counts an attempt, then returns the code. The update locks the row, so attempts on one code run one after the other. */
export const countAttempt = prepare((db, { hash }: Slots<{ hash: string }>) =>
  db
    .updateTable('authorization_codes')
    .set((column) => ({ attempts: column('attempts', '+', 1) }))
    .where('hash', '=', hash)
    .returning(['hash', 'client_id as clientId', 'redirect_uri as redirectUri', 'code_challenge as codeChallenge'])
    .returning(['person_id as personId', 'tenant_id as tenantId', 'scope', 'expires_ms as expiresMs'])
    .returning(['attempts', 'used_ms as usedMs', 'grant_id as authorizationId']),
).first

interface Use {
  hash: string
  authorizationId: string
  nowMs: number
  keepUntilMs: number
}

/** Marks a code as used. Its row stays as long as a token of its authorization can live. */
export const markCodeUsed = prepare((db, { hash, authorizationId, nowMs, keepUntilMs }: Slots<Use>) =>
  db
    .updateTable('authorization_codes')
    .set({ used_ms: nowMs, grant_id: authorizationId, keep_until_ms: keepUntilMs })
    .where('hash', '=', hash),
).run

/** The stored approval of a user for a client, from which tokens are issued: an authorization grant (RFC 6749). */
export interface Authorization extends Parties {
  id: string
  scope: string
  expiresMs: number
}

export const saveAuthorization = prepare((db, row: Slots<Authorization & { nowMs: number }>) =>
  db.insertInto('grants').values({
    id: row.id,
    client_id: row.clientId,
    person_id: row.personId,
    tenant_id: row.tenantId,
    scope: row.scope,
    created_ms: row.nowMs,
    expires_ms: row.expiresMs,
    touched_ms: row.nowMs,
    revoked_ms: null,
  }),
).run

/** `touched_ms` is only written, never read: the update locks the row. */
const lock = prepare((db, { refreshTokenHash, nowMs }: Slots<{ refreshTokenHash: string; nowMs: number }>) =>
  db
    .updateTable('grants')
    .set({ touched_ms: nowMs })
    .where('id', '=', (select) =>
      select.selectFrom('refresh_tokens').select('grant_id').where('hash', '=', refreshTokenHash),
    ),
)

/** Locks the authorization of a refresh token, so that uses of one token family run one after the other. */
export async function lockAuthorizationOf(db: Db, refreshTokenHash: string, nowMs: number): Promise<void> {
  if (queryTraitsOf(rawDatabase(db)).transactionsLock === 'rows') await lock.run(db, { refreshTokenHash, nowMs })
}

/** Revokes an authorization. All of its refresh and access tokens end with it. */
export const revokeAuthorization = prepare((db, { id, nowMs }: Slots<{ id: string; nowMs: number }>) =>
  db.updateTable('grants').set({ revoked_ms: nowMs }).where('id', '=', id).where('revoked_ms', 'is', null),
).run

export interface RefreshToken {
  /** The database has only the hash of a token. */
  hash: string
  idleExpiresMs: number
  usedMs: number | null
  successorHash: string | null
  /** The tokens that replaced this one, encrypted so that only the owner of this one can read them. */
  successorEncrypted: string | null
}

/** A refresh token with its authorization. It may have been used already, and its idle life may be over. */
export interface UnrevokedRefreshToken {
  token: RefreshToken
  authorization: Authorization
  eligibility: TokenEligibility
}

interface PresentedRefreshToken {
  hash: string
  clientId: string
  nowMs: number
}

/** Authorizations with their parties. */
function selectGrants(db: RawDatabase) {
  return db
    .selectFrom('grants')
    .innerJoin('people', 'people.id', 'grants.person_id')
    .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
    .innerJoin('clients', 'clients.id', 'grants.client_id')
    .leftJoin('client_approvals as approval', (join) =>
      join.onRef('approval.client_id', '=', 'grants.client_id').onRef('approval.tenant_id', '=', 'grants.tenant_id'),
    )
}

const unrevokedRefreshToken = prepare((db, { hash, clientId, nowMs }: Slots<PresentedRefreshToken>) =>
  selectGrants(db)
    .innerJoin('refresh_tokens as token', 'token.grant_id', 'grants.id')
    .select(eligibilityColumns)
    .select(['grants.id', 'grants.person_id as personId', 'grants.tenant_id as tenantId', 'grants.scope'])
    .select(['grants.expires_ms as expiresMs', 'token.idle_expires_ms as idleExpiresMs', 'token.used_ms as usedMs'])
    .select(['token.successor_hash as successorHash', 'token.successor_sealed as successorEncrypted'])
    .where('token.hash', '=', hash)
    .where('token.revoked_ms', 'is', null)
    .where('grants.client_id', '=', clientId)
    .where('grants.revoked_ms', 'is', null)
    .where('grants.expires_ms', '>', nowMs),
)

/**
 * Finds a refresh token of this client, used or not, unless it is revoked or its authorization is revoked or expired. The caller
 * compares `idleExpiresMs` with the time.
 */
export async function findUnrevokedRefreshToken(
  db: Db,
  presented: PresentedRefreshToken,
): Promise<UnrevokedRefreshToken | undefined> {
  const row = await unrevokedRefreshToken.first(db, presented)
  if (row === undefined) return undefined
  const { hash, clientId } = presented
  const { id, personId, tenantId, scope, expiresMs, idleExpiresMs, usedMs, successorHash, successorEncrypted } = row
  return {
    token: { hash, idleExpiresMs, usedMs, successorHash, successorEncrypted },
    authorization: { id, clientId, personId, tenantId, scope, expiresMs },
    eligibility: eligibilityOf(row, tenantId),
  }
}

/** Reads when a refresh token was used. */
export const findRefreshTokenUse = prepare((db, { hash }: Slots<{ hash: string }>) =>
  db.selectFrom('refresh_tokens').select('used_ms as usedMs').where('hash', '=', hash),
).first

interface NewRefreshToken {
  hash: string
  authorizationId: string
  idleExpiresMs: number
}

export const saveRefreshToken = prepare((db, { hash, authorizationId, idleExpiresMs }: Slots<NewRefreshToken>) =>
  db.insertInto('refresh_tokens').values({
    hash,
    grant_id: authorizationId,
    idle_expires_ms: idleExpiresMs,
    used_ms: null,
    revoked_ms: null,
    successor_hash: null,
    successor_sealed: null,
  }),
).run

interface Rotation extends NewRefreshToken {
  usedMs: number
  successorHash: string
  successorEncrypted: string
}

/** Saves a successor that lives until `idleExpiresMs`, and marks the token `hash` as used, in one statement. */
export const replaceRefreshToken = prepare((db, rotation: Slots<Rotation>) => {
  const successor = {
    hash: rotation.successorHash,
    grant_id: rotation.authorizationId,
    idle_expires_ms: rotation.idleExpiresMs,
    used_ms: null,
    revoked_ms: null,
    successor_hash: null,
    successor_sealed: null,
  }
  const use = {
    used_ms: rotation.usedMs,
    successor_hash: rotation.successorHash,
    successor_sealed: rotation.successorEncrypted,
  }
  return db
    .insertInto('refresh_tokens')
    .values([successor, { ...successor, ...use, hash: rotation.hash }])
    .onConflict((conflict) =>
      conflict.column('hash').doUpdateSet(({ ref }) => ({
        used_ms: ref('excluded.used_ms'),
        successor_hash: ref('excluded.successor_hash'),
        successor_sealed: ref('excluded.successor_sealed'),
      })),
    )
}).run

export const extendIdleLife = prepare((db, { hash, idleExpiresMs }: Slots<{ hash: string; idleExpiresMs: number }>) =>
  db.updateTable('refresh_tokens').set({ idle_expires_ms: idleExpiresMs }).where('hash', '=', hash),
).run

/** Revokes every refresh token of the database. */
export const revokeEveryRefreshToken = prepare((db, { nowMs }: Slots<{ nowMs: number }>) =>
  db.updateTable('refresh_tokens').set({ revoked_ms: nowMs }).where('revoked_ms', 'is', null),
).run

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

export const saveAccessToken = prepare((db, { hash, authorizationId, expiresMs }: Slots<NewAccessToken>) =>
  db.insertInto('access_tokens').values({ hash, grant_id: authorizationId, expires_ms: expiresMs }),
).run

/** Makes every access token of the database expired. */
export const expireEveryAccessToken = prepare((db, { nowMs }: Slots<{ nowMs: number }>) =>
  db.updateTable('access_tokens').set({ expires_ms: nowMs }).where('expires_ms', '>', nowMs),
).run

interface PresentedToken {
  hash: string
  nowMs: number
}

const liveAccessToken = prepare((db, { hash, nowMs }: Slots<PresentedToken>) =>
  selectGrants(db)
    .innerJoin('access_tokens as token', 'token.grant_id', 'grants.id')
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
 * approval or of a client (403, by `client.approval`) take effect with the next request. The caller compares the `tenant` claim of
 * the signed token with the tenant of the account.
 */
export async function findBearerOfAccessToken(db: Db, hash: string, nowMs: number): Promise<Bearer | undefined> {
  const row = await liveAccessToken.first(db, { hash, nowMs })
  return row && { ...bearerOf(row), client: { id: row.client_id, approval: approvalOf(row) } }
}

interface NewSessionToken {
  hash: string
  personId: string
  expiresMs: number
}

export const saveSessionToken = prepare((db, { hash, personId, expiresMs }: Slots<NewSessionToken>) =>
  db.insertInto('session_tokens').values({ hash, person_id: personId, expires_ms: expiresMs }),
).run

const liveSessionToken = prepare((db, { hash, nowMs }: Slots<PresentedToken>) =>
  db
    .selectFrom('session_tokens as token')
    .innerJoin('people', 'people.id', 'token.person_id')
    .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
    .select(['people.id', 'people.tenant_id', 'people.permissions', 'tenants.billing_active'])
    .where('token.hash', '=', hash)
    .where('token.expires_ms', '>', nowMs)
    .where('people.active', '=', 1)
    .where('tenants.active', '=', 1),
)

/** Finds the bearer of a user session token, which belongs to no client. */
export async function findBearerOfSessionToken(db: Db, hash: string, nowMs: number): Promise<Bearer | undefined> {
  const row = await liveSessionToken.first(db, { hash, nowMs })
  return row && bearerOf(row)
}

function bearerOf(row: { id: string; tenant_id: string; permissions: string; billing_active: Flag }): Bearer {
  return {
    personId: row.id,
    tenantId: row.tenant_id,
    permissions: JSON.parse(row.permissions),
    billing: row.billing_active === 1 ? 'active' : 'inactive',
  }
}
