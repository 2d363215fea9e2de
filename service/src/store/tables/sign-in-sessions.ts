import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { PersonRecord } from './people.ts'
import { findPersonBySession } from './people.ts'

//
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

const touch = prepare((db, { idHash, nowMs }: Slots<{ idHash: string; nowMs: number }>) =>
  db.updateTable('sign_in_sessions').set({ seen_ms: nowMs }).where('id_hash', '=', idHash),
)

/** The person of a session that has neither idled out nor grown too old; using it counts as activity (S-023). */
export async function useSignInSession(db: Db, idHash: string, nowMs: number): Promise<PersonRecord | undefined> {
  const limits = { seenAfterMs: nowMs - idleLifeMs, createdAfterMs: nowMs - absoluteLifeMs }
  const person = await findPersonBySession(db, { idHash, ...limits })
  if (person !== undefined) await touch.run(db, { idHash, nowMs })
  return person
}

export async function deleteSignInSession(db: Db, idHash: string): Promise<void> {
  await rawDatabase(db).deleteFrom('sign_in_sessions').where('id_hash', '=', idHash).execute()
}
