import type { InferResult } from 'kysely'
import type { Db, RawDatabase } from '../database.ts'
import { rawDatabase } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import { partsOf } from '../engine/split-rows.ts'
import { lookupText } from './lookup-text.ts'

/** A user of the service, with tenant and permissions. The table is called `people`, because a released migration made it. */
export interface Account {
  id: string
  tenantId: string
  tenantName: string
  email: string
  name: string
  passwordHash: string
  permissions: string[]
  active: boolean
}

const byEmail = prepare((db, { email }: Slots<{ email: string }>) =>
  selectAccounts(db).where('people.email', '=', email),
)

/** Finds the account with this email address, in any case of its letters. Stored addresses are in lower case. */
export async function findAccountByEmail(db: Db, email: string): Promise<Account | undefined> {
  const row = await byEmail.first(db, { email: lookupText(email.toLowerCase()) })
  return row === undefined ? undefined : accountOf(row)
}

interface SessionCondition {
  idHash: string
  seenAfterMs: number
  createdAfterMs: number
}

const bySession = prepare((db, { idHash, seenAfterMs, createdAfterMs }: Slots<SessionCondition>) =>
  selectAccounts(db)
    .innerJoin('sign_in_sessions as session', 'session.person_id', 'people.id')
    .where('session.id_hash', '=', idHash)
    .where('session.seen_ms', '>', seenAfterMs)
    .where('session.created_ms', '>', createdAfterMs),
)

/** Finds the user of a sign-in session that was used and created after these times. */
export async function findAccountBySession(db: Db, session: SessionCondition): Promise<Account | undefined> {
  const row = await bySession.first(db, session)
  return row === undefined ? undefined : accountOf(row)
}

function selectAccounts(db: RawDatabase) {
  return db
    .selectFrom('people')
    .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
    .select(['people.id', 'people.tenant_id', 'people.email', 'people.name', 'people.password_hash'])
    .select(['people.permissions', 'people.active', 'tenants.name as tenant_name', 'tenants.active as tenant_active'])
}

type AccountRow = InferResult<ReturnType<typeof selectAccounts>>[number]

/** Returns the user of a row. A user of an inactive tenant is inactive too. */
function accountOf(row: AccountRow): Account {
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

const inOrder = prepare((db) => selectAccounts(db).orderBy('people.position'))

/** Lists every user, in the order in which they were added. */
export async function listAccounts(db: Db): Promise<Account[]> {
  return (await inOrder.all(db, {})).map(accountOf)
}

type NewAccount = Pick<Account, 'id' | 'tenantId' | 'email' | 'name' | 'passwordHash' | 'permissions'> & {
  activity: 'active' | 'inactive'
}

/** Adds users, in this order, to a database without users. Each email address must be in lower case (seed/world-of-seed.ts). */
export async function insertAccounts(tx: Db, accounts: readonly NewAccount[]): Promise<void> {
  const rows = accounts.map(({ id, tenantId, email, name, passwordHash, permissions, activity }, position) => ({
    id,
    tenant_id: tenantId,
    email,
    name,
    password_hash: passwordHash,
    permissions: JSON.stringify(permissions),
    active: activity === 'active' ? (1 as const) : (0 as const),
    position,
  }))
  for (const part of partsOf(rows)) await rawDatabase(tx).insertInto('people').values(part).execute()
}

/** Sets all permissions of a user. `unknown` means that no account has this email address. */
export async function setPermissions(tx: Db, email: string, permissions: string[]): Promise<'set' | 'unknown'> {
  const account = await findAccountByEmail(tx, email)
  if (account === undefined) return 'unknown'
  const values = { permissions: JSON.stringify(permissions) }
  await rawDatabase(tx).updateTable('people').set(values).where('id', '=', account.id).execute()
  return 'set'
}

interface PasswordChange {
  passwordHash: string
  /** The hash that is replaced. Without it, any. */
  replaced?: string
}

/** Saves a password hash. `outdated` means that the user has another password than `replaced` by now. */
export async function savePasswordHash(
  db: Db,
  personId: string,
  { passwordHash, replaced }: PasswordChange,
): Promise<'saved' | 'outdated'> {
  const own = rawDatabase(db).updateTable('people').set({ password_hash: passwordHash }).where('id', '=', personId)
  const change = replaced === undefined ? own : own.where('password_hash', '=', replaced)
  const { numUpdatedRows } = await change.executeTakeFirstOrThrow()
  return numUpdatedRows > 0n ? 'saved' : 'outdated'
}
