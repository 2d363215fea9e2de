import type { InferResult } from 'kysely'
import type { Db, RawDatabase } from '../database.ts'
import { rawDatabase } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
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

/** Finds the user of a sign-in session that was used and created after these times. */
export async function findPersonBySession(db: Db, session: LiveSession): Promise<PersonRecord | undefined> {
  const row = await bySession.first(db, session)
  return row === undefined ? undefined : personOf(row)
}

function selectPeople(db: RawDatabase) {
  return db
    .selectFrom('people')
    .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
    .select(['people.id', 'people.tenant_id', 'people.email', 'people.name', 'people.password_hash'])
    .select(['people.permissions', 'people.active', 'tenants.name as tenant_name', 'tenants.active as tenant_active'])
}

type PersonRow = InferResult<ReturnType<typeof selectPeople>>[number]

/** Returns the user of a row. A user of an inactive tenant is inactive too. */
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

/** Lists every user, in the order in which they were added. */
export async function listPeople(db: Db): Promise<PersonRecord[]> {
  const rows = await selectPeople(rawDatabase(db)).orderBy('people.position').execute()
  return rows.map(personOf)
}

type NewPerson = Pick<PersonRecord, 'id' | 'tenantId' | 'email' | 'name' | 'passwordHash' | 'permissions'>

/** Adds an active user, who is listed at this position. */
export async function savePerson(tx: Db, person: NewPerson, position: number): Promise<void> {
  const { id, tenantId, email, name, passwordHash, permissions } = person
  await rawDatabase(tx)
    .insertInto('people')
    .values({
      id,
      tenant_id: tenantId,
      email,
      name,
      password_hash: passwordHash,
      permissions: JSON.stringify(permissions),
      active: 1,
      position,
    })
    .execute()
}

/** Sets all permissions of a user. `unknown` means that no account has this email address. */
export async function setPermissions(tx: Db, email: string, permissions: string[]): Promise<'set' | 'unknown'> {
  const person = await findPersonByEmail(tx, email)
  if (person === undefined) return 'unknown'
  const values = { permissions: JSON.stringify(permissions) }
  await rawDatabase(tx).updateTable('people').set(values).where('id', '=', person.id).execute()
  return 'set'
}

export async function savePasswordHash(db: Db, personId: string, passwordHash: string): Promise<void> {
  await rawDatabase(db).updateTable('people').set({ password_hash: passwordHash }).where('id', '=', personId).execute()
}
