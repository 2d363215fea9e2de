import { type Db, rawDatabase, transact } from './database.ts'
import { findAccountByEmail, savePasswordHash } from './logins.ts'
import type { Store } from './store.ts'

/**
 * Voids the open requests and the codes of a user, from which applications would get tokens. Call it after `lockSignIns`, so that no
 * session asks for another code, and before `lockAuthorizations`. A code exchange locks its code and then writes its authorization, so in
 * the other order two transactions could wait for each other.
 */
async function voidCodes(tx: Db, personId: string): Promise<void> {
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

interface NewPassword {
  email: string
  passwordHash: string
  nowMs: number
}

/**
 * Sets the password of a user and ends what the user signed in to, in one transaction: sign-ins on the pages, codes, and the tokens
 * of all applications. If another transaction is adding one of these, this one waits for its commit, and then ends what was added as well.
 */
export function replacePassword(
  store: Store,
  { email, passwordHash, nowMs }: NewPassword,
): Promise<'done' | 'unknown'> {
  return transact(
    store.db,
    async (tx) => {
      const account = await findAccountByEmail(tx, email)
      if (account === undefined) return 'unknown'
      // First, so that no session can be added or used to get another code.
      await store.lockSignIns(tx)
      // Codes before authorizations, the order in which a code exchange locks them.
      await voidCodes(tx, account.id)
      await store.lockAuthorizations(tx)
      await savePasswordHash(tx, account.id, { passwordHash })
      await endAccess(tx, account.id, nowMs)
      return 'done'
    },
    'after-lock-timeout',
  )
}
