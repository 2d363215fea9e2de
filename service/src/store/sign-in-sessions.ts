import type { Slots } from './prepare.ts'
import { prepare } from './prepare.ts'
import type { Db } from './store.ts'

export const idleLifeMs: number = 30 * 60_000
export const absoluteLifeMs: number = 12 * 60 * 60_000

interface NewSession {
  idHash: string
  personId: string
  nowMs: number
}

const insertSession = prepare((db, { idHash, personId, nowMs }: Slots<NewSession>) =>
  db.insertInto('sign_in_sessions').values({ id_hash: idHash, person_id: personId, created_ms: nowMs, seen_ms: nowMs }),
)

export async function createSignInSession(db: Db, idHash: string, personId: string, nowMs: number): Promise<void> {
  await insertSession.run(db, { idHash, personId, nowMs })
}

interface Touch {
  idHash: string
  nowMs: number
  seenAfterMs: number
  createdAfterMs: number
}

const touch = prepare((db, { idHash, nowMs, seenAfterMs, createdAfterMs }: Slots<Touch>) =>
  db
    .updateTable('sign_in_sessions')
    .set({ seen_ms: nowMs })
    .where('id_hash', '=', idHash)
    .where('seen_ms', '>', seenAfterMs)
    .where('created_ms', '>', createdAfterMs)
    .returning('person_id'),
)

/** The person of a session that has neither idled out nor grown too old; using it counts as activity (S-023). */
export async function touchSignInSession(db: Db, idHash: string, nowMs: number): Promise<string | undefined> {
  const limits = { seenAfterMs: nowMs - idleLifeMs, createdAfterMs: nowMs - absoluteLifeMs }
  const row = await touch.first(db, { idHash, nowMs, ...limits })
  return row?.person_id
}

export async function deleteSignInSession(db: Db, idHash: string): Promise<void> {
  await db.deleteFrom('sign_in_sessions').where('id_hash', '=', idHash).execute()
}
