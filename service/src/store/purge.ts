import { absoluteLifeMs, idleLifeMs } from './sign-in-sessions.ts'
import type { Db } from './store.ts'
import { transact } from './transact.ts'

/**
 * Removes what can no longer matter. Used codes and rotated refresh tokens stay until their whole grant has expired,
 * so that a replay is noticed however late it comes (S-032, S-052).
 */
export async function purge(db: Db, nowMs: number): Promise<void> {
  await transact(db, async (tx) => {
    await tx.deleteFrom('authorization_requests').where('expires_ms', '<=', nowMs).execute()
    await tx.deleteFrom('session_tokens').where('expires_ms', '<=', nowMs).execute()
    await tx.deleteFrom('access_tokens').where('expires_ms', '<=', nowMs).execute()
    await tx
      .deleteFrom('sign_in_sessions')
      .where((where) =>
        where.or([where('seen_ms', '<=', nowMs - idleLifeMs), where('created_ms', '<=', nowMs - absoluteLifeMs)]),
      )
      .execute()
    await tx.deleteFrom('authorization_codes').where('keep_until_ms', '<=', nowMs).execute()
    const expired = tx.selectFrom('grants').select('id').where('expires_ms', '<=', nowMs)
    await tx.deleteFrom('access_tokens').where('grant_id', 'in', expired).execute()
    await tx.deleteFrom('refresh_tokens').where('grant_id', 'in', expired).execute()
    await tx.deleteFrom('grants').where('expires_ms', '<=', nowMs).execute()
  })
}
