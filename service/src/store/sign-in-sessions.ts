import type { Db } from './store.ts'

export const idleLifeMs: number = 30 * 60_000
export const absoluteLifeMs: number = 12 * 60 * 60_000

export async function createSignInSession(db: Db, idHash: string, personId: string, nowMs: number): Promise<void> {
  await db
    .insertInto('sign_in_sessions')
    .values({ id_hash: idHash, person_id: personId, created_ms: nowMs, seen_ms: nowMs })
    .execute()
}

/** The person of a session that has neither idled out nor grown too old; using it counts as activity (S-023). */
export async function touchSignInSession(db: Db, idHash: string, nowMs: number): Promise<string | undefined> {
  const row = await db
    .updateTable('sign_in_sessions')
    .set({ seen_ms: nowMs })
    .where('id_hash', '=', idHash)
    .where('seen_ms', '>', nowMs - idleLifeMs)
    .where('created_ms', '>', nowMs - absoluteLifeMs)
    .returning('person_id')
    .executeTakeFirst()
  return row?.person_id
}

export async function deleteSignInSession(db: Db, idHash: string): Promise<void> {
  await db.deleteFrom('sign_in_sessions').where('id_hash', '=', idHash).execute()
}
