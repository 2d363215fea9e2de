import type { Selectable } from 'kysely'
import type { AuthorizationCodeTable } from './schema.ts'
import type { Db } from './store.ts'

export type AuthorizationCode = Selectable<AuthorizationCodeTable>

export async function saveCode(
  db: Db,
  code: Omit<AuthorizationCode, 'attempts' | 'used_ms' | 'grant_id' | 'keep_until_ms'>,
): Promise<void> {
  await db
    .insertInto('authorization_codes')
    .values({ ...code, attempts: 0, used_ms: null, grant_id: null, keep_until_ms: code.expires_ms })
    .execute()
}

/** Counts the attempt first: the update also locks the row, so attempts on one code run one after the other. */
export async function countAttempt(db: Db, hash: string): Promise<AuthorizationCode | undefined> {
  return db
    .updateTable('authorization_codes')
    .set((column) => ({ attempts: column('attempts', '+', 1) }))
    .where('hash', '=', hash)
    .returningAll()
    .executeTakeFirst()
}

export async function markCodeUsed(
  db: Db,
  { hash, grantId, nowMs, keepUntilMs }: { hash: string; grantId: string; nowMs: number; keepUntilMs: number },
): Promise<void> {
  await db
    .updateTable('authorization_codes')
    .set({ used_ms: nowMs, grant_id: grantId, keep_until_ms: keepUntilMs })
    .where('hash', '=', hash)
    .execute()
}
