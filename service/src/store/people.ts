import { lookupText } from './lookup-text.ts'
import type { Slots } from './prepare.ts'
import { prepare } from './prepare.ts'
import type { Db } from './store.ts'

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

const by = { id: findBy('id'), email: findBy('email') }

function findBy(column: 'id' | 'email') {
  return prepare((db, { value }: Slots<{ value: string }>) =>
    db
      .selectFrom('people')
      .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
      .selectAll('people')
      .select(['tenants.name as tenant_name', 'tenants.active as tenant_active'])
      .where(`people.${column}`, '=', value),
  )
}

export async function findPersonByEmail(db: Db, email: string): Promise<PersonRecord | undefined> {
  return findPerson(db, 'email', lookupText(email.toLowerCase()))
}

export async function findPersonById(db: Db, id: string): Promise<PersonRecord | undefined> {
  return findPerson(db, 'id', id)
}

/** A person counts as active only together with the tenant. */
async function findPerson(db: Db, column: 'id' | 'email', value: string): Promise<PersonRecord | undefined> {
  const row = await by[column].first(db, { value })
  if (row === undefined) return undefined
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
