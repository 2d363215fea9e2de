import type { ExpressionBuilder, InferResult } from 'kysely'
import { lifetimes, limits, storeLimits } from '../limits.ts'
import { type Db, lookupText, partsOf, prepare, type RawDatabase, rawDatabase, type Slots } from './database.ts'
import type { Flag, Tables } from './schema.ts'
import { approvalOf, type ClientForTenant } from './tokens.ts'

/** A user of the service, with tenant and permissions. The table is called `people`. */
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
  clientId: string
  seenAfterMs: number
  createdAfterMs: number
}

const bySession = prepare((db, { idHash, clientId, seenAfterMs, createdAfterMs }: Slots<SessionCondition>) =>
  selectAccounts(db)
    .innerJoin('sign_in_sessions as session', 'session.person_id', 'people.id')
    .leftJoin('clients', (join) => join.on('clients.id', '=', clientId))
    .leftJoin('client_approvals as approval', (join) =>
      join.onRef('approval.client_id', '=', 'clients.id').onRef('approval.tenant_id', '=', 'people.tenant_id'),
    )
    .select(['clients.name as client_name', 'clients.active as client_active'])
    .select(['approval.active as approved', 'approval.surfaces'])
    .where('session.id_hash', '=', idHash)
    .where('session.seen_ms', '>', seenAfterMs)
    .where('session.created_ms', '>', createdAfterMs),
)

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

/** Adds users, in this order, to a database without users. Each email address must be in lower case. */
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

/** A user who is signed in, and the client that asks for the user, if one does and exists. */
export interface SessionUser {
  account: Account
  client: ClientForTenant | undefined
}

/**
 * Finds the user of a sign-in session, and counts this as its latest use.
 */
export async function useSignInSession(
  db: Db,
  { idHash, clientId = '', nowMs }: { idHash: string; clientId?: string | undefined; nowMs: number },
): Promise<SessionUser | undefined> {
  const seenAfterMs = nowMs - lifetimes.signInIdleMs
  const createdAfterMs = nowMs - lifetimes.signInMs
  const row = await bySession.first(db, { idHash, clientId, seenAfterMs, createdAfterMs })
  // A new password may have ended the session since the query.
  if (row === undefined || (await touch.run(db, { idHash, nowMs })) !== 1) return undefined
  const client = row.client_name === null ? undefined : { name: row.client_name, approval: approvalOf(row) }
  return { account: accountOf(row), client }
}

export const deleteSignInSession = prepare((db, { idHash }: Slots<{ idHash: string }>) =>
  db.deleteFrom('sign_in_sessions').where('id_hash', '=', idHash),
).run

/** An authorization request that was not decided. */
export interface AuthorizationRequestRow {
  idHash: string
  browserHash: string
  clientId: string
  redirectUri: string
  scope: string
  /** Percent-encoded, so that every byte comes back as it was sent. */
  state: string | null
  codeChallenge: string | null
  /** The error to send back once the user is signed in. */
  refusal: string | null
  /** The sign-in session that was asked for consent, if one was. */
  sessionHash: string | null
  expiresMs: number
  /** 1 if the request came with the form of a sign-in page. A browser can submit that form again after the decision. */
  carried: Flag
}

interface Consent {
  idHash: string
  sessionHash: string
  consentHash: string
}

const save = prepare((db, request: Slots<AuthorizationRequestRow & Consent>) =>
  db
    .insertInto('authorization_requests')
    .values({
      id_hash: request.idHash,
      browser_hash: request.browserHash,
      client_id: request.clientId,
      redirect_uri: request.redirectUri,
      scope: request.scope,
      state: request.state,
      code_challenge: request.codeChallenge,
      refusal: request.refusal,
      session_hash: request.sessionHash,
      consent_hash: request.consentHash,
      expires_ms: request.expiresMs,
      decided_ms: null,
      carried: request.carried,
    })
    // A browser can submit the same sign-in form twice. If the request was decided in between, its row stays as it is.
    .onConflict((conflict) =>
      conflict
        .column('id_hash')
        .doUpdateSet({ session_hash: request.sessionHash, consent_hash: request.consentHash })
        .where('authorization_requests.decided_ms', 'is', null),
    ),
)

const bind = prepare((db, { idHash, sessionHash, consentHash }: Slots<Consent>) =>
  db
    .updateTable('authorization_requests')
    .set({ session_hash: sessionHash, consent_hash: consentHash })
    .where('id_hash', '=', idHash)
    .where('decided_ms', 'is', null),
)

/**
 * Ties the request to a sign-in session and to the one token that its consent form carries, unless it was decided. A request that is only
 * on the page is stored.
 */
export async function bindConsent(
  db: Db,
  request: AuthorizationRequestRow,
  { kept, ...session }: Omit<Consent, 'idHash'> & { kept: 'in-database' | 'on-page' },
): Promise<'bound' | 'decided'> {
  const consent = { ...session, idHash: request.idHash }
  const rows = kept === 'on-page' ? await save.run(db, { ...request, ...consent }) : await bind.run(db, consent)
  return rows === 1 ? 'bound' : 'decided'
}

interface OldRequests {
  sessionHash: string
  keptIdHash: string
}

/**
 * Keeps the newest open requests of one sign-in session and the request `keptIdHash`, and deletes the next
 * older ones.
 */
export const deleteOldRequests = prepare((db, { sessionHash, keptIdHash }: Slots<OldRequests>) =>
  db
    .deleteFrom('authorization_requests')
    .where('session_hash', '=', sessionHash)
    .where('id_hash', '!=', keptIdHash)
    .where('id_hash', 'in', (old) =>
      old
        .selectFrom('authorization_requests')
        .select('id_hash')
        .where('session_hash', '=', sessionHash)
        .where('decided_ms', 'is', null)
        .orderBy('expires_ms', 'desc')
        .limit(storeLimits.deletedRequests)
        .offset(limits.requestsPerSession),
    ),
).run

interface Asked {
  idHash: string
  browserHash: string
  nowMs: number
}

/** Finds an undecided request of this browser. */
export const findOpenRequest = prepare((db, { idHash, browserHash, nowMs }: Slots<Asked>) =>
  db
    .selectFrom('authorization_requests')
    .select([
      'id_hash as idHash',
      'browser_hash as browserHash',
      'client_id as clientId',
      'redirect_uri as redirectUri',
    ])
    .select(['scope', 'state', 'code_challenge as codeChallenge', 'refusal', 'session_hash as sessionHash'])
    .select(['expires_ms as expiresMs', 'carried'])
    .where('id_hash', '=', idHash)
    .where('browser_hash', '=', browserHash)
    .where('decided_ms', 'is', null)
    .where('expires_ms', '>', nowMs),
).first

/** The columns that a decision erases. If a sign-in page carries the request, the rest of its row shows that it was decided. */
const blank = { redirect_uri: '', scope: '', state: null, code_challenge: null, session_hash: null, consent_hash: null }

interface Decision extends Consent {
  nowMs: number
}

function isOpen({ idHash, sessionHash, consentHash, nowMs }: Slots<Decision>) {
  return (row: ExpressionBuilder<Tables, 'authorization_requests'>) =>
    row.and([
      row('id_hash', '=', idHash),
      row('session_hash', '=', sessionHash),
      row('consent_hash', '=', consentHash),
      row('decided_ms', 'is', null),
      row('expires_ms', '>', nowMs),
    ])
}

const deleteOpen = prepare((db, decision: Slots<Decision>) =>
  db.deleteFrom('authorization_requests').where(isOpen(decision)),
)

const blankOpen = prepare((db, decision: Slots<Decision>) =>
  db
    .updateTable('authorization_requests')
    .set({ ...blank, decided_ms: decision.nowMs })
    .where(isOpen(decision)),
)

/**
 * Decides the request once: of several decisions only the first finds it open. Takes an open transaction. The
 * row is deleted, unless a sign-in page carries the request and could have it stored and decided again.
 */
export async function decideRequest(tx: Db, carried: Flag, decision: Decision): Promise<'decided' | 'refused'> {
  const taken = carried === 1 ? blankOpen : deleteOpen
  return (await taken.run(tx, decision)) === 1 ? 'decided' : 'refused'
}

/** Ends a request that was answered with an error before the user was asked. */
export async function closeRequest(db: Db, { idHash, carried }: AuthorizationRequestRow, nowMs: number): Promise<void> {
  const requests = rawDatabase(db)
  const values = { ...blank, decided_ms: nowMs }
  await (carried === 1
    ? requests.updateTable('authorization_requests').set(values).where('id_hash', '=', idHash).execute()
    : requests.deleteFrom('authorization_requests').where('id_hash', '=', idHash).execute())
}
