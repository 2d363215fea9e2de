import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'

/**
 * Voids the open requests and the codes of a user, from which applications would get tokens. Call it after `lockSignIns`, so that no
 * session asks for another code, and before `lockAuthorizations`, because a code exchange locks its code first.
 */
export async function voidCodes(tx: Db, personId: string): Promise<void> {
  const db = rawDatabase(tx)
  // First: it waits for a decision that is being stored, whose code the next statement then deletes.
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
