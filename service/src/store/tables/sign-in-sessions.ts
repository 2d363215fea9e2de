import { lifetimes } from '../../lifetimes.ts'
import type { Db } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { Account } from './accounts.ts'
import { findAccountBySession } from './accounts.ts'

interface NewSession {
  idHash: string
  personId: string
  passwordHash: string
  nowMs: number
}

const insertSession = prepare((db, { idHash, personId, passwordHash, nowMs }: Slots<NewSession>) =>
  db
    .insertInto('sign_in_sessions')
    .columns(['id_hash', 'person_id', 'created_ms', 'seen_ms'])
    .expression((people) =>
      people
        .selectFrom('people')
        .select([idHash.as('id_hash'), 'id', nowMs.as('created_ms'), nowMs.as('seen_ms')])
        .where('id', '=', personId)
        .where('password_hash', '=', passwordHash),
    ),
)

/** Adds a sign-in session, unless the password hash of its user was replaced since it was compared. */
export async function createSignInSession(db: Db, session: NewSession): Promise<'created' | 'outdated'> {
  return (await insertSession.run(db, session)) === 1 ? 'created' : 'outdated'
}

const touch = prepare((db, { idHash, nowMs }: Slots<{ idHash: string; nowMs: number }>) =>
  db.updateTable('sign_in_sessions').set({ seen_ms: nowMs }).where('id_hash', '=', idHash),
)

/**
 * Finds the user of a sign-in session, and counts this as its latest use (S-023, A-61). A session expires
 * `signInIdleMs`, 30 minutes after its latest use, and `signInMs`, 12 hours after the sign-in.
 */
export async function useSignInSession(db: Db, idHash: string, nowMs: number): Promise<Account | undefined> {
  const seenAfterMs = nowMs - lifetimes.signInIdleMs
  const createdAfterMs = nowMs - lifetimes.signInMs
  const account = await findAccountBySession(db, { idHash, seenAfterMs, createdAfterMs })
  if (account === undefined) return undefined
  // A new password may have ended the session since the query.
  return (await touch.run(db, { idHash, nowMs })) === 1 ? account : undefined
}

const remove = prepare((db, { idHash }: Slots<{ idHash: string }>) =>
  db.deleteFrom('sign_in_sessions').where('id_hash', '=', idHash),
)

export async function deleteSignInSession(db: Db, idHash: string): Promise<void> {
  await remove.run(db, { idHash })
}
