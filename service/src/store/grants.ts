import type { Selectable } from 'kysely'
import type { GrantTable, RefreshTokenTable } from './schema.ts'
import type { Db } from './store.ts'

export type Grant = Selectable<GrantTable>
export type RefreshToken = Selectable<RefreshTokenTable>

export async function saveGrant(db: Db, grant: Omit<Grant, 'touched_ms' | 'revoked_ms'>): Promise<void> {
  await db
    .insertInto('grants')
    .values({ ...grant, touched_ms: grant.created_ms, revoked_ms: null })
    .execute()
}

/** The family of a refresh token. The update locks it, so that uses of one family run one after the other. */
export async function lockGrantOfRefreshToken(db: Db, hash: string, nowMs: number): Promise<Grant | undefined> {
  return db
    .updateTable('grants')
    .set({ touched_ms: nowMs })
    .where('id', '=', (select) => select.selectFrom('refresh_tokens').select('grant_id').where('hash', '=', hash))
    .returningAll()
    .executeTakeFirst()
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

export async function findRefreshToken(db: Db, hash: string): Promise<RefreshToken | undefined> {
  return db.selectFrom('refresh_tokens').selectAll().where('hash', '=', hash).executeTakeFirst()
}

export async function saveRefreshToken(
  db: Db,
  token: Pick<RefreshToken, 'hash' | 'grant_id' | 'idle_expires_ms'>,
): Promise<void> {
  await db
    .insertInto('refresh_tokens')
    .values({ ...token, used_ms: null, revoked_ms: null, successor_hash: null, successor_sealed: null })
    .execute()
}

export async function markRefreshTokenUsed(
  db: Db,
  token: { hash: string; usedMs: number; successorHash: string; successorSealed: string },
): Promise<void> {
  await db
    .updateTable('refresh_tokens')
    .set({ used_ms: token.usedMs, successor_hash: token.successorHash, successor_sealed: token.successorSealed })
    .where('hash', '=', token.hash)
    .execute()
}

export async function extendIdleLife(db: Db, hash: string, idleExpiresMs: number): Promise<void> {
  await db.updateTable('refresh_tokens').set({ idle_expires_ms: idleExpiresMs }).where('hash', '=', hash).execute()
}

export async function revokeEveryRefreshToken(db: Db, nowMs: number): Promise<void> {
  await db.updateTable('refresh_tokens').set({ revoked_ms: nowMs }).where('revoked_ms', 'is', null).execute()
}
