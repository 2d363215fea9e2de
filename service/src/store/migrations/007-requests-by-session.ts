import type { Kysely } from 'kysely'

/** Each new request of a session deletes the oldest of the same session. */
export async function indexRequestsBySession(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('requests_by_session').on('authorization_requests').column('session_hash').execute()
}
