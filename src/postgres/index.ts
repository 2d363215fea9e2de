import { checkArgument, checkOptions, type OptionKinds } from '../config/options.ts'
import { AgentAuthError } from '../errors.ts'
import { leasedStorage, type RecordDatabase, type SharedStorage } from '../storage/shared/leased-storage.ts'
import { type Statements, statementsFor } from './statements.ts'

export type { SharedStorage } from '../storage/shared/leased-storage.ts'

/** What is used of a `Pool` of `pg`. */
export interface PostgresPool {
  /** Runs a statement with its values. */
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** The options of `postgresStorage`. */
export interface PostgresStorageOptions {
  /** Name of the table, with its schema if need be: letters, digits and `_`. Default `agent_auth_records`. */
  readonly table?: string | undefined
  /** How long a record lasts after its last write, in milliseconds. Default: until it is removed. */
  readonly ttlMs?: number | undefined
}

/** Keeps `storage_failed` away from what another process did in the same moment: these mean it made the table. */
const madeByAnother = ['42P07', '42710', '23505']
const tableMissing = '42P01'
/** Under stricter isolation than the default, the loser of a race is told to try again. */
const tryAgain = '40001'
const sweepEveryMs = 60_000

const optionKinds: OptionKinds<PostgresStorageOptions> = { table: 'string', ttlMs: 'number' }

/**
 * Keeps records in a table of PostgreSQL 12 or later, for any number of processes and machines, with a lock whose holder
 * can write only while it holds it. No connection is held between statements. The table is made when it is missing.
 * Throws `config_invalid`.
 */
export function postgresStorage(pool: PostgresPool, options: PostgresStorageOptions = {}): SharedStorage {
  checkArgument('pool', pool, { methods: ['query'] })
  checkOptions('postgresStorage', options, optionKinds)
  const { table = 'agent_auth_records', ttlMs } = options
  if (!/^(?:[a-z_]\w{0,49}\.)?[a-z_]\w{0,49}$/i.test(table))
    throw new AgentAuthError(
      'config_invalid',
      'table must be a name of at most 50 letters, digits and underscores, with its schema if need be.',
    )
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0))
    throw new AgentAuthError('config_invalid', 'ttlMs must be a whole number of milliseconds above 0.')
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
        ? await did(statements.writeWhileHeld, [...record, lockKey(lease.name), lease.owner])
        : await did(statements.write, record)
      sweep()
      return written
    },
    remove: (key, lease) => did(statements.removeWhileHeld, [recordKey(key), lockKey(lease.name), lease.owner]),
    removeIf: (key, value) => did(statements.removeIf, [recordKey(key), encode(value)]),
    acquire: ({ name, owner }, leaseMs) => did(statements.acquire, [lockKey(name), owner, leaseMs]),
    renew: ({ name, owner }, leaseMs) => did(statements.renew, [lockKey(name), owner, leaseMs]),
    release: ({ name, owner }) => did(statements.removeIf, [lockKey(name), owner]),
    reasonOf: codeOf,
  }
}

/** Runs a statement; makes the table when it is missing, and repeats what only lost a race. */
function rowsFrom(pool: PostgresPool, create: string): (statement: string, values: unknown[]) => Promise<unknown[]> {
  const attempt = async (statement: string, values: unknown[], attempts: number): Promise<unknown[]> => {
    try {
      return (await pool.query(statement, values)).rows
    } catch (error) {
      const code = codeOf(error)
      if (attempts === 0 || (code !== tableMissing && code !== tryAgain)) throw error
      if (code === tableMissing) await pool.query(create).catch(unlessMade)
      return attempt(statement, values, attempts - 1)
    }
  }
  return (statement, values) => attempt(statement, values, 5)
}

function unlessMade(error: unknown): void {
  if (!madeByAnother.includes(codeOf(error) ?? '')) throw error
}

/** Removes what has expired, after a write and at most once a minute. */
function sweeper(sweep: () => Promise<unknown>): () => void {
  let nextMs = 0
  return () => {
    if (performance.now() < nextMs) return
    nextMs = performance.now() + sweepEveryMs
    sweep().catch(() => {})
  }
}

/** Records and locks share the table; their first letter tells them apart. */
function recordKey(key: string): string {
  return `r:${encode(key)}`
}

function lockKey(name: string): string {
  return `l:${encode(name)}`
}

/** PostgreSQL's text cannot hold NUL. */
function encode(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\0', '\\0')
}

function decode(text: string): string {
  return text.replace(/\\(.)/g, (_, next: string) => (next === '0' ? '\0' : next))
}

/** An SQLSTATE, or the code of a network failure. */
function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(?:E[A-Z_]{3,20}|[0-9A-Z]{5})$/.test(code) ? code : undefined
}
