import type { Kysely } from 'kysely'

/** Each new request of a session deletes the oldest ones of the same session above a limit (`deleteOldRequests`). */
export async function indexRequestsBySession(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('requests_by_session').on('authorization_requests').column('session_hash').execute()
}
