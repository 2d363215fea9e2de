import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'

/**
 * Voids the open requests and the codes of a user, from which applications would get tokens. Call it after `lockSignIns`, so that no
 * session asks for another code, and before `lockAuthorizations`. A code exchange locks its code and then writes its authorization, so in
 * the other order two transactions could wait for each other.
 */
export async function voidCodes(tx: Db, personId: string): Promise<void> {
  const db = rawDatabase(tx)
  // This statement comes first, because it waits for a transaction that decides one of these requests and saves a code for it. The next
  // statement then finds that code and deletes it.
  await db
    .deleteFrom('authorization_requests')
    .where('session_hash', 'in', (own) =>
      own.selectFrom('sign_in_sessions').select('id_hash').where('person_id', '=', personId),
    )
    .execute()
  // A used code stays, so that its next use is noticed.
  await db.deleteFrom('authorization_codes').where('person_id', '=', personId).where('used_ms', 'is', null).execute()
}

/** Ends everything that a user signed in to: sign-in sessions, user session tokens, and authorizations with all their tokens. */
export async function endAccess(tx: Db, personId: string, nowMs: number): Promise<void> {
  const db = rawDatabase(tx)
  const live = db.updateTable('grants').set({ revoked_ms: nowMs }).where('person_id', '=', personId)
  await live.where('revoked_ms', 'is', null).execute()
  await db.deleteFrom('sign_in_sessions').where('person_id', '=', personId).execute()
  await db.deleteFrom('session_tokens').where('person_id', '=', personId).execute()
}
