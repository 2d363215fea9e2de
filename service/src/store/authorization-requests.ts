import type { Selectable } from 'kysely'
import type { AuthorizationRequestTable } from './schema.ts'
import type { Db } from './store.ts'

export type AuthorizationRequest = Selectable<AuthorizationRequestTable>

/** A request that nobody finishes is dropped after ten minutes. */
export const requestLifeMs: number = 10 * 60_000

export async function saveRequest(db: Db, request: AuthorizationRequest): Promise<void> {
  await db.insertInto('authorization_requests').values(request).execute()
}

/** An undecided request of this browser. */
export async function findOpenRequest(
  db: Db,
  { idHash, browserHash, nowMs }: { idHash: string; browserHash: string; nowMs: number },
): Promise<AuthorizationRequest | undefined> {
  return db
    .selectFrom('authorization_requests')
    .selectAll()
    .where('id_hash', '=', idHash)
    .where('browser_hash', '=', browserHash)
    .where('decided_ms', 'is', null)
    .where('expires_ms', '>', nowMs)
    .executeTakeFirst()
}

/** Ties the request to a signed-in session and to the one token that its consent form carries. */
export async function bindConsent(
  db: Db,
  { idHash, sessionHash, consentHash }: { idHash: string; sessionHash: string; consentHash: string },
): Promise<void> {
  await db
    .updateTable('authorization_requests')
    .set({ session_hash: sessionHash, consent_hash: consentHash })
    .where('id_hash', '=', idHash)
    .execute()
}

/** Decides the request once; of several answers only the first finds it undecided (S-014). */
export async function decideRequest(
  db: Db,
  {
    idHash,
    sessionHash,
    consentHash,
    nowMs,
  }: { idHash: string; sessionHash: string; consentHash: string; nowMs: number },
): Promise<'decided' | 'refused'> {
  const { numUpdatedRows } = await db
    .updateTable('authorization_requests')
    .set({ decided_ms: nowMs })
    .where('id_hash', '=', idHash)
    .where('session_hash', '=', sessionHash)
    .where('consent_hash', '=', consentHash)
    .where('decided_ms', 'is', null)
    .where('expires_ms', '>', nowMs)
    .executeTakeFirst()
  return numUpdatedRows === 1n ? 'decided' : 'refused'
}

/** Ends a request that was answered with an error before anybody was asked. */
export async function closeRequest(db: Db, idHash: string, nowMs: number): Promise<void> {
  await db.updateTable('authorization_requests').set({ decided_ms: nowMs }).where('id_hash', '=', idHash).execute()
}
