import { checkMethods, checkNames, invalid } from '../internal/values.ts'
import { checkTtlMs, leasedStorage, type RecordDatabase, type SharedStorage } from '../storage/shared/leased-storage.ts'
import { networkCode } from '../storage/shared/network-code.ts'

/** The longest name of a table in characters. PostgreSQL cuts a name at 63, and the name of the index needs the rest. */
const maxTableNameLength = 50

/** How often a statement of PostgreSQL is repeated after it lost a race. */
const maxStatementRepeats = 5

/** How often PostgreSQL is asked to remove expired records, in milliseconds. Expired records are never read. */
const sweepEveryMs = 60_000

/** How many expired records one statement removes, so that it ends soon. */
const maxSweptRecords = 1_000

export type { SharedStorage } from '../storage/shared/leased-storage.ts'

/** The method of a `Pool` of `pg` that the storage calls. */
export interface PostgresPool {
  /** Runs a statement with its values. */
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** The options of `postgresStorage`. */
export interface PostgresStorageOptions {
  /** Name of the table, with or without its schema: up to 50 letters, digits and `_`. Default: `agent_auth_records`. */
  readonly table?: string | undefined
  /** Sets how long a record lasts after its last write, in milliseconds. Default: until it is removed. */
  readonly ttlMs?: number | undefined
}

/** The codes that mean that another process created the table at the same moment. */
const createdByAnother = ['42P07', '42710', '23505']
const tableMissing = '42P01'
/** The code of a lost race, which a stricter isolation than the default reports. */
const tryAgain = '40001'

/**
 * Creates a storage in a table of PostgreSQL 12 or later that processes and machines share. Only the lock owner can write within
 * a lock. It keeps no connection between statements, and creates the table if it is missing. Throws `config_invalid`.
 */
export function postgresStorage(pool: PostgresPool, options: PostgresStorageOptions = {}): SharedStorage {
  checkMethods('pool', pool, ['query'])
  const { table = 'agent_auth_records', ttlMs } = checkNames('postgresStorage', options, ['table', 'ttlMs'])
  const isName = typeof table === 'string' && /^(?:[a-z_]\w*\.)?[a-z_]\w*$/i.test(table)
  if (!isName || table.split('.').some((name) => name.length > maxTableNameLength))
    invalid(
      `table must be a name of at most ${maxTableNameLength} letters, digits and underscores, with or without a schema`,
    )
  checkTtlMs(ttlMs)
  return leasedStorage(postgresDatabase(pool, table, ttlMs ?? null))
}

function postgresDatabase(pool: PostgresPool, table: string, ttlMs: number | null): RecordDatabase {
  const statements = statementsFor(table)
  /** Runs a statement. Creates the table if it is missing, and repeats a statement that lost a race. */
  async function rows(statement: string, values: unknown[]): Promise<unknown[]> {
    for (let repeats = maxStatementRepeats; ; repeats--) {
      try {
        return (await pool.query(statement, values)).rows
      } catch (error) {
        const code = codeOf(error)
        if (repeats === 0 || (code !== tableMissing && code !== tryAgain)) throw error
        if (code === tableMissing) await pool.query(statements.create).catch(unlessCreated)
      }
    }
  }
  const did = async (statement: string, values: unknown[]): Promise<boolean> =>
    (await rows(statement, values)).length > 0
  let nextSweepMs = 0
  const sweep = (): void => {
    if (performance.now() < nextSweepMs) return
    nextSweepMs = performance.now() + sweepEveryMs
    rows(statements.sweep, []).catch(() => {})
  }
  return {
    async read(key) {
      const [row] = (await rows(statements.read, [recordKey(key)])) as { value: string }[]
      return row?.value ?? null
    },
    async write(key, value, lease) {
      const record = [recordKey(key), value, ttlMs]
      const written = lease
        ? await did(statements.writeWhileOwned, [...record, lockKey(lease.name), lease.owner])
        : await did(statements.write, record)
      sweep()
      return written
    },
    remove: (key, lease) => did(statements.removeWhileOwned, [recordKey(key), lockKey(lease.name), lease.owner]),
    removeIf: (key, value) => did(statements.removeIf, [recordKey(key), value]),
    acquire: ({ name, owner }, leaseMs) => did(statements.acquire, [lockKey(name), owner, leaseMs]),
    renew: ({ name, owner }, leaseMs) => did(statements.renew, [lockKey(name), owner, leaseMs]),
    release: ({ name, owner }) => did(statements.removeIf, [lockKey(name), owner]),
    reasonOf: codeOf,
  }
}

/**
 * Returns the statements for one table, whose name was checked. A lock is a row too: its value is the owner, and it expires with
 * the lease. All times are of the database's clock. Each change returns a row if it took place.
 */
function statementsFor(table: string) {
  const names = table.split('.')
  const t = names.map((name) => `"${name}"`).join('.')
  const inMs = (parameter: string): string => `clock_timestamp() + ${parameter}::float8 * interval '1 millisecond'`
  // The row stays locked until the statement has ended, so that no other process takes over the lock before then.
  const owned = (lock: string, owner: string): string =>
    `with owned as (select 1 from ${t} where key = ${lock} and value = ${owner} for update)`
  const replace = 'on conflict (key) do update set value = excluded.value, expires_at = excluded.expires_at'
  return {
    create: `create table if not exists ${t} (key text collate "C" primary key, value text not null, expires_at timestamptz);
create index if not exists "${names.at(-1)}_expires_at" on ${t} (expires_at)`,
    read: `select value from ${t} where key = $1 and (expires_at is null or expires_at > clock_timestamp())`,
    write: `insert into ${t} (key, value, expires_at) values ($1, $2, ${inMs('$3')}) ${replace} returning 1`,
    writeWhileOwned: `${owned('$4', '$5')}
insert into ${t} (key, value, expires_at) select $1, $2, ${inMs('$3')} from owned ${replace} returning 1`,
    removeIf: `delete from ${t} where key = $1 and value = $2 returning 1`,
    removeWhileOwned: `${owned('$2', '$3')}, removed as (delete from ${t} where key = $1 and exists (select from owned)) select 1 from owned`,
    acquire: `insert into ${t} as lock (key, value, expires_at) values ($1, $2, ${inMs('$3')})
${replace} where lock.expires_at <= clock_timestamp() returning 1`,
    renew: `update ${t} set expires_at = ${inMs('$3')} where key = $1 and value = $2 returning 1`,
    sweep: `delete from ${t} where key in
(select key from ${t} where expires_at <= clock_timestamp() limit ${maxSweptRecords} for update skip locked)`,
  }
}

function unlessCreated(error: unknown): void {
  if (!createdByAnother.includes(codeOf(error) ?? '')) throw error
}

/** Returns the key of a record in the table. Locks share the table, so the first letter of a key distinguishes them. */
function recordKey(key: string): string {
  return `r:${key}`
}

function lockKey(name: string): string {
  return `l:${name}`
}

/** Returns an SQLSTATE, or the code of a network failure. */
function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown }
  return networkCode(error) ?? (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined)
}
