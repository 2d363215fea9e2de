import type { InferResult } from 'kysely'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { Db } from '../store.ts'
import { lookupText } from './lookup-text.ts'

export interface PersonRecord {
  id: string
  tenantId: string
  tenantName: string
  email: string
  name: string
  passwordHash: string
  permissions: string[]
  active: boolean
}

const byEmail = prepare((db, { email }: Slots<{ email: string }>) => selectPeople(db).where('people.email', '=', email))

export async function findPersonByEmail(db: Db, email: string): Promise<PersonRecord | undefined> {
  const row = await byEmail.first(db, { email: lookupText(email.toLowerCase()) })
  return row === undefined ? undefined : personOf(row)
}

interface LiveSession {
  idHash: string
  seenAfterMs: number
  createdAfterMs: number
}

const bySession = prepare((db, { idHash, seenAfterMs, createdAfterMs }: Slots<LiveSession>) =>
  selectPeople(db)
    .innerJoin('sign_in_sessions as session', 'session.person_id', 'people.id')
    .where('session.id_hash', '=', idHash)
    .where('session.seen_ms', '>', seenAfterMs)
    .where('session.created_ms', '>', createdAfterMs),
)

/** Whoever is signed in with a session that neither idles nor is as old as this. */
export async function findPersonBySession(db: Db, session: LiveSession): Promise<PersonRecord | undefined> {
  const row = await bySession.first(db, session)
  return row === undefined ? undefined : personOf(row)
}

function selectPeople(db: Db) {
  return db
    .selectFrom('people')
    .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
    .select(['people.id', 'people.tenant_id', 'people.email', 'people.name', 'people.password_hash'])
    .select(['people.permissions', 'people.active', 'tenants.name as tenant_name', 'tenants.active as tenant_active'])
}

type PersonRow = InferResult<ReturnType<typeof selectPeople>>[number]

/** A person counts as active only together with the tenant. */
function personOf(row: PersonRow): PersonRecord {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    tenantName: row.tenant_name,
    email: row.email,
    name: row.name,
    passwordHash: row.password_hash,
    permissions: JSON.parse(row.permissions),
    active: row.active === 1 && row.tenant_active === 1,
  }
}

export async function savePasswordHash(db: Db, personId: string, passwordHash: string): Promise<void> {
  await db.updateTable('people').set({ password_hash: passwordHash }).where('id', '=', personId).execute()
}
