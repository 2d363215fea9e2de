import type { Selectable } from 'kysely'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { GrantTable, RefreshTokenTable } from '../schema.ts'
import type { Db } from '../store.ts'

/** What the tokens of a grant are made from. */
export type Grant = Omit<Selectable<GrantTable>, 'created_ms' | 'touched_ms' | 'revoked_ms'>
export type RefreshToken = Selectable<RefreshTokenTable>

type NewGrant = Grant & { created_ms: number }

const insertGrant = prepare((db, grant: Slots<NewGrant>) =>
  db.insertInto('grants').values({
    id: grant.id,
    client_id: grant.client_id,
    person_id: grant.person_id,
    tenant_id: grant.tenant_id,
    scope: grant.scope,
    created_ms: grant.created_ms,
    expires_ms: grant.expires_ms,
    touched_ms: grant.created_ms,
    revoked_ms: null,
  }),
)

export async function saveGrant(db: Db, grant: NewGrant): Promise<void> {
  await insertGrant.run(db, grant)
}

const lockGrant = prepare((db, { hash, nowMs }: Slots<{ hash: string; nowMs: number }>) =>
  db
    .updateTable('grants')
    .set({ touched_ms: nowMs })
    .where('id', '=', (select) => select.selectFrom('refresh_tokens').select('grant_id').where('hash', '=', hash)),
)

/** The update locks the family of a refresh token, so that uses of one family run one after the other. */
export async function lockGrantOfRefreshToken(db: Db, hash: string, nowMs: number): Promise<void> {
  await lockGrant.run(db, { hash, nowMs })
}

interface Presented {
  hash: string
  clientId: string
  nowMs: number
}

const liveRefreshToken = prepare((db, { hash, clientId, nowMs }: Slots<Presented>) =>
  db
    .selectFrom('refresh_tokens as token')
    .innerJoin('grants', 'grants.id', 'token.grant_id')
    .select(['grants.id', 'grants.client_id', 'grants.person_id', 'grants.tenant_id', 'grants.scope'])
    .select(['grants.expires_ms', 'token.hash', 'token.idle_expires_ms', 'token.used_ms'])
    .select(['token.successor_hash', 'token.successor_sealed'])
    .where('token.hash', '=', hash)
    .where('token.revoked_ms', 'is', null)
    .where('grants.client_id', '=', clientId)
    .where('grants.revoked_ms', 'is', null)
    .where('grants.expires_ms', '>', nowMs),
)

export type LiveRefreshToken = Grant & Omit<RefreshToken, 'grant_id' | 'revoked_ms'>

/** A refresh token of this client with its grant, used or not, while neither is revoked or over. */
export async function findLiveRefreshToken(db: Db, presented: Presented): Promise<LiveRefreshToken | undefined> {
  return liveRefreshToken.first(db, presented)
}

/** Ends everything that came from one consent: refresh tokens and access tokens (S-028, S-050). */
export async function revokeGrant(db: Db, grantId: string, nowMs: number): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_ms: nowMs })
    .where('id', '=', grantId)
    .where('revoked_ms', 'is', null)
    .execute()
}

const refreshToken = prepare((db, { hash }: Slots<{ hash: string }>) =>
  db.selectFrom('refresh_tokens').selectAll().where('hash', '=', hash),
)

export async function findRefreshToken(db: Db, hash: string): Promise<RefreshToken | undefined> {
  return refreshToken.first(db, { hash })
}

type NewRefreshToken = Pick<RefreshToken, 'hash' | 'grant_id' | 'idle_expires_ms'>

const insertRefreshToken = prepare((db, token: Slots<NewRefreshToken>) =>
  db.insertInto('refresh_tokens').values({
    hash: token.hash,
    grant_id: token.grant_id,
    idle_expires_ms: token.idle_expires_ms,
    used_ms: null,
    revoked_ms: null,
    successor_hash: null,
    successor_sealed: null,
  }),
)

export async function saveRefreshToken(db: Db, token: NewRefreshToken): Promise<void> {
  await insertRefreshToken.run(db, token)
}

interface Rotation {
  hash: string
  usedMs: number
  successorHash: string
  successorSealed: string
}

const rotate = prepare((db, { hash, usedMs, successorHash, successorSealed }: Slots<Rotation>) =>
  db
    .updateTable('refresh_tokens')
    .set({ used_ms: usedMs, successor_hash: successorHash, successor_sealed: successorSealed })
    .where('hash', '=', hash),
)

export async function markRefreshTokenUsed(db: Db, rotation: Rotation): Promise<void> {
  await rotate.run(db, rotation)
}

export async function extendIdleLife(db: Db, hash: string, idleExpiresMs: number): Promise<void> {
  await db.updateTable('refresh_tokens').set({ idle_expires_ms: idleExpiresMs }).where('hash', '=', hash).execute()
}

export async function revokeEveryRefreshToken(db: Db, nowMs: number): Promise<void> {
  await db.updateTable('refresh_tokens').set({ revoked_ms: nowMs }).where('revoked_ms', 'is', null).execute()
}
