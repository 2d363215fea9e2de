import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'

/** Ends everything that a user signed in to: sign-in sessions, user session tokens, and authorizations with all their tokens. */
export async function endAccess(tx: Db, personId: string, nowMs: number): Promise<void> {
  const db = rawDatabase(tx)
  const live = db.updateTable('grants').set({ revoked_ms: nowMs }).where('person_id', '=', personId)
  await live.where('revoked_ms', 'is', null).execute()
  await db.deleteFrom('sign_in_sessions').where('person_id', '=', personId).execute()
  await db.deleteFrom('session_tokens').where('person_id', '=', personId).execute()
}
