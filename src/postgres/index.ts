import { checkMethods, checkNames, invalid } from '../internal/values.ts'
import { leasedStorage, type RecordDatabase, type SharedStorage } from '../storage/shared/leased-storage.ts'
import { networkCode } from '../storage/shared/network-code.ts'
import { checkTtlMs } from '../storage/shared/options.ts'
import { type Statements, statementsFor } from './statements.ts'

/** The longest name of a table in characters. PostgreSQL cuts a name at 63, and the name of the index needs the rest. */
const maxTableNameLength = 50

/** How often a statement of PostgreSQL is repeated after it lost a race. */
const maxStatementRepeats = 5

/** How often PostgreSQL is asked to remove expired records, in milliseconds. Expired records are never read. */
const sweepEveryMs = 60_000

export type { SharedStorage } from '../storage/shared/leased-storage.ts'

/** The method of a `Pool` of `pg` that the storage calls. */
export interface PostgresPool {
  /** Runs a statement with its values. */
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** The options of `postgresStorage`. */
export interface PostgresStorageOptions {
  /**
   * Name of the table, with or without its schema: letters, digits and `_` (`maxTableNameLength`, 50). Default:
   * `agent_auth_records`.
   */
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
  return leasedStorage(postgresDatabase(pool, statementsFor(table), ttlMs ?? null))
}

function postgresDatabase(pool: PostgresPool, statements: Statements, ttlMs: number | null): RecordDatabase {
  const rows = rowsFrom(pool, statements.create)
  const did = async (statement: string, values: unknown[]): Promise<boolean> =>
    (await rows(statement, values)).length > 0
  const sweep = sweeper(() => rows(statements.sweep, []))
  return {
    async read(key) {
      const [row] = (await rows(statements.read, [recordKey(key)])) as { value: string }[]
      return row ? decode(row.value) : null
    },
    async write(key, value, lease) {
      const record = [recordKey(key), encode(value), ttlMs]
      const written = lease
        ? await did(statements.writeWhileOwned, [...record, lockKey(lease.name), lease.owner])
        : await did(statements.write, record)
      sweep()
      return written
    },
    remove: (key, lease) => did(statements.removeWhileOwned, [recordKey(key), lockKey(lease.name), lease.owner]),
    removeIf: (key, value) => did(statements.removeIf, [recordKey(key), encode(value)]),
    acquire: ({ name, owner }, leaseMs) => did(statements.acquire, [lockKey(name), owner, leaseMs]),
    renew: ({ name, owner }, leaseMs) => did(statements.renew, [lockKey(name), owner, leaseMs]),
    release: ({ name, owner }) => did(statements.removeIf, [lockKey(name), owner]),
    reasonOf: codeOf,
  }
}

/** Runs a statement. Creates the table if it is missing, and repeats a statement that lost a race (`maxStatementRepeats`, 5). */
function rowsFrom(pool: PostgresPool, create: string): (statement: string, values: unknown[]) => Promise<unknown[]> {
  const run = async (statement: string, values: unknown[], repeats: number): Promise<unknown[]> => {
    try {
      return (await pool.query(statement, values)).rows
    } catch (error) {
      const code = codeOf(error)
      if (repeats === 0 || (code !== tableMissing && code !== tryAgain)) throw error
      if (code === tableMissing) await pool.query(create).catch(unlessCreated)
      return run(statement, values, repeats - 1)
    }
  }
  return (statement, values) => run(statement, values, maxStatementRepeats)
}

function unlessCreated(error: unknown): void {
  if (!createdByAnother.includes(codeOf(error) ?? '')) throw error
}

/** Removes expired records after a write, at most once in `sweepEveryMs`, 60 s. An expired record is never read, removed or not. */
function sweeper(sweep: () => Promise<unknown>): () => void {
  let nextMs = 0
  return () => {
    if (performance.now() < nextMs) return
    nextMs = performance.now() + sweepEveryMs
    sweep().catch(() => {})
  }
}

/** Returns the key of a record in the table. Locks share the table, so the first letter of a key distinguishes them. */
function recordKey(key: string): string {
  return `r:${encode(key)}`
}

function lockKey(name: string): string {
  return `l:${encode(name)}`
}

/** Escapes NUL, which text of PostgreSQL cannot hold. */
function encode(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\0', '\\0')
}

function decode(text: string): string {
  return text.replace(/\\(.)/g, (_, next: string) => (next === '0' ? '\0' : next))
}

/** Returns an SQLSTATE, or the code of a network failure. */
function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown }
  return networkCode(error) ?? (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined)
}
