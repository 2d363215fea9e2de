import { hash } from 'node:crypto'
import {
  type AliasableExpression,
  type Compilable,
  CompiledQuery,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  type QueryResult,
  type RawBuilder,
  type SqliteDatabase,
  type SqliteStatement,
  sql,
} from 'kysely'
import { storeLimits } from '../limits.ts'
import { databaseFailureOf, isLockTimeout } from './failures.ts'
import type { Tables } from './schema.ts'

declare const opaque: unique symbol

/** A connection or an open transaction. All parts of the service pass it on, but only the store builds queries on it. */
export interface Db {
  readonly [opaque]: 'database'
}

/** The query builder behind a `Db`. Outside of the store only tests use it. */
export type RawDatabase = Kysely<Tables>

export function rawDatabase(db: Db): RawDatabase {
  return db as unknown as RawDatabase
}

export function opaqueDatabase(database: RawDatabase): Db {
  return database as unknown as Db
}

/** Returns what the database keeps of a token or an id. It is enough for 256 random bits, which cannot be guessed. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64url')
}

/** What differs between database engines. No file outside of this folder asks which one is in use. */
export interface StoreEngine {
  /** Connects Kysely, the query builder, to the database. */
  readonly kyselyDialect: Dialect
  /** Text that compares and sorts by code point, in every engine and every language of a database. */
  readonly text: RawBuilder<unknown>
  /** The column type of row ids. On PostgreSQL it is `bigint`, because a filter by a number too large for `integer` would fail. */
  readonly rowId: RawBuilder<unknown>
  /** The column of a row id that the database assigns. */
  readonly autoId: RawBuilder<unknown>
  /**
   * Locks every row that these tables have now until the transaction ends, one table after the other. Others can neither change these rows
   * nor add rows that refer to them.
   */
  lockRows(tx: RawDatabase, tables: readonly (keyof Tables)[]): Promise<void>
  /** Waits for transactions that have written to this table, and keeps others from writing until the transaction ends. */
  lockTable(tx: RawDatabase, table: keyof Tables): Promise<void>
  /** Lets ids that the database assigns in these tables continue after those that were given. */
  continueIds(tx: RawDatabase, tables: readonly (keyof Tables)[]): Promise<void>
}

/** The properties of an engine that its queries depend on. */
interface QueryTraits {
  /** The engine's function that returns the place where a text contains another one, from 1 on, or 0. */
  readonly textPosition: 'instr' | 'strpos'
  /** What a transaction that may write locks: the whole database when it begins, or each row that it changes. */
  readonly transactionsLock: 'database' | 'rows'
  /** Deletes the rows of these tables, one table after the other. */
  deleteRows(tx: RawDatabase, tables: readonly (keyof Tables)[]): Promise<void>
}

/** Reads them from the adapter, because a connection and its transactions share no other object. */
export function queryTraitsOf(db: RawDatabase): QueryTraits {
  return (db.getExecutor().adapter as DialectAdapter & { queryTraits: QueryTraits }).queryTraits
}

/**
 * Returns the dialect with three changes. Its adapter carries the traits. A transaction that may write locks the whole database when it
 * begins, if the engine cannot lock rows, so that what it reads cannot change before it writes. An error of a rollback is ignored, because
 * the first error says what happened: after some errors (a full disk, a lost connection) the engine has rolled back already.
 */
export function serviceDialect(dialect: Dialect, queryTraits: QueryTraits): Dialect {
  return {
    createAdapter: () => Object.assign(dialect.createAdapter(), { queryTraits }),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver() {
      const driver: Driver = dialect.createDriver()
      const rollback = driver.rollbackTransaction.bind(driver)
      driver.rollbackTransaction = (connection) => rollback(connection).catch(() => undefined)
      if (queryTraits.transactionsLock === 'database')
        driver.beginTransaction = async (connection, { accessMode }) => {
          await connection.executeQuery(CompiledQuery.raw(accessMode === 'read only' ? 'begin' : 'begin immediate'))
        }
      return driver
    },
  }
}

/** A statement of libsql. After `raw`, `get` returns the values of the first row. */
interface Statement extends SqliteStatement {
  raw(): unknown
  columns(): readonly { name: string }[]
  get(parameters: readonly unknown[]): unknown
}

/** Prepares each SQL text once, because each request runs the same few again. */
export function cachingStatements(database: { prepare(text: string): Statement; close(): void }): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(text) {
      const known = statements.get(text)
      if (known !== undefined) return known
      const statement = withFixedReader(database.prepare(text), text)
      // Each shape of a filter is a text of its own, so there is a limit. The oldest statement is removed.
      if (statements.size >= storeLimits.preparedStatements) statements.delete(statements.keys().next().value ?? '')
      statements.set(text, statement)
      return statement
    },
    close() {
      statements.clear()
      database.close()
    },
  }
}

/** Reads once whether a statement returns rows, because asking libsql takes as long as a small query. */
function withFixedReader(statement: Statement, text: string): SqliteStatement {
  const { reader } = statement
  return {
    reader,
    all: reader && text.endsWith(onlyFirst) ? firstRowOf(statement) : (parameters) => statement.all(parameters),
    run: (parameters) => statement.run(parameters),
    iterate: (parameters) => statement.iterate(parameters),
  }
}

/** Reads by `get`, because `all` of libsql makes room for a hundred rows. `raw`, because `get` adds a member to rows. */
function firstRowOf(statement: Statement): SqliteStatement['all'] {
  statement.raw()
  const names = statement.columns().map(({ name }) => name)
  return (parameters) => {
    const values = statement.get(parameters) as unknown[] | undefined
    if (values === undefined) return []
    const row: Record<string, unknown> = {}
    for (const [index, name] of names.entries()) row[name] = values[index]
    return [row]
  }
}

/** Placeholders for the values that a prepared query gets when it runs. */
export type Slots<Values> = { readonly [Name in keyof Values]: AliasableExpression<Values[Name]> }

/** A query whose text never changes. */
export interface Prepared<Values, Row> {
  all(db: Db, values: Values): Promise<Row[]>
  first(db: Db, values: Values): Promise<Row | undefined>
  /** Returns how many rows it changed. */
  run(db: Db, values: Values): Promise<number>
}

class Slot {
  constructor(readonly name: string) {}
}

/** Ends the text of a query whose other rows are not read. */
const onlyFirst = ' limit 1'
type Wanted = 'all' | 'first'

/**
 * Builds and compiles a query once per database, at its first use, because that takes several times as long as running it.
 * The compiled query belongs to the database's adapter, the one object that a connection and its transactions share.
 */
export function prepare<Values extends object, Row>(
  build: (db: RawDatabase, slots: Slots<Values>) => Compilable<Row>,
): Prepared<Values, Row> {
  const compiled = new WeakMap<DialectAdapter, Record<Wanted, CompiledQuery<Row>>>()

  function compile(db: RawDatabase): Record<Wanted, CompiledQuery<Row>> {
    const all = build(db, slotsFor<Values>()).compile()
    const first = all.query.kind === 'SelectQueryNode' ? { ...all, sql: all.sql + onlyFirst } : all
    compiled.set(db.getExecutor().adapter, { all, first })
    return { all, first }
  }
  async function execute(handle: Db, values: Values, wanted: Wanted): Promise<QueryResult<Row>> {
    const db = rawDatabase(handle)
    const executor = db.getExecutor()
    const query = (compiled.get(executor.adapter) ?? compile(db))[wanted]
    const parameters = query.parameters.map((parameter) =>
      parameter instanceof Slot ? values[parameter.name as keyof Values] : parameter,
    )
    return executor.executeQuery({ ...query, parameters })
  }
  return {
    all: async (db, values) => (await execute(db, values, 'all')).rows,
    first: async (db, values) => (await execute(db, values, 'first')).rows[0],
    run: async (db, values) => Number((await execute(db, values, 'all')).numAffectedRows ?? 0n),
  }
}

function slotsFor<Values extends object>(): Slots<Values> {
  return new Proxy({} as Slots<Values>, { get: (_, name) => sql.val(new Slot(String(name))) })
}

/**
 * Runs `task` in a transaction, all or nothing. After a conflict it runs again, so a task must have no
 * effect outside of its transaction. `after-lock-timeout` runs it again also if PostgreSQL did not grant a lock in time. It is for a
 * reset, the dev controls and a new password, which lock rows of many requests. Between two runs it holds no lock.
 */
export async function transact<Value>(
  db: Db,
  task: (tx: Db) => Promise<Value>,
  again: 'after-conflict' | 'after-lock-timeout' = 'after-conflict',
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await rawDatabase(db)
        .transaction()
        .execute((tx) => task(opaqueDatabase(tx)))
    } catch (error) {
      const mayRunAgain =
        databaseFailureOf(error) === 'conflict' || (again === 'after-lock-timeout' && isLockTimeout(error))
      if (attempt === storeLimits.transactionAttempts || !mayRunAgain) throw error
    }
  }
}

const mostAtOnce = 500

/** Splits rows into parts for one insert each, because a statement of SQLite has at most 32,766 parameters. */
export function partsOf<Row>(rows: readonly Row[]): Row[][] {
  const count = Math.ceil(rows.length / mostAtOnce)
  return Array.from({ length: count }, (_, part) => rows.slice(part * mostAtOnce, (part + 1) * mostAtOnce))
}

/** Replaces NUL, which PostgreSQL refuses in a parameter, by a character that no stored id or address holds. */
export function lookupText(text: string): string {
  return text.replaceAll('\0', '\ufffd')
}

// Variation selectors and tags choose the picture of an emoji or the form of a letter.
const invisible =
  /[\p{Cc}\p{Zl}\p{Zp}]|(?!\u200c|\u200d|\p{Variation_Selector}|[\u{e0020}-\u{e007f}])\p{Default_Ignorable_Code_Point}/u

// ZWNJ and ZWJ belong to the spelling of words and emoji; anywhere else they join nothing and are invisible.
const joined =
  /(?<=[\p{L}\p{M}\p{N}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d](?=[\p{L}\p{M}\p{N}\p{Extended_Pictographic}])/gu
const joiner = /[\u200c\u200d]/

const loneSurrogate = /\p{Cs}/u

/** Returns whether the database can store a text: PostgreSQL refuses NUL, and UTF-8 has no lone surrogates. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !loneSurrogate.test(text)
}

export function hasInvisible(text: string): boolean {
  return invisible.test(text) || joiner.test(text.replace(joined, ''))
}

/**
 * `hash` is the key of stored hashes, and `signing` signs access tokens (`loadKeys`). `reset` encrypts the authorization
 * requests that sign-in pages carry. Each reset of the data replaces this key, so that requests encrypted before are void. Two entries
 * are no keys: `seed` marks what the database was filled with, and `endpoint-billing` is a part of a seed without a table of its own.
 */
export type ServiceKeyName = 'hash' | 'signing' | 'reset' | 'seed' | 'endpoint-billing'

const byName = prepare((db, { name }: Slots<{ name: ServiceKeyName }>) =>
  db.selectFrom('service_keys').select('value').where('name', '=', name),
)

/** Returns the key of this name. Its query is prepared, because each sign-in page and form reads a key. */
export async function findServiceKey(db: Db, name: ServiceKeyName): Promise<string | undefined> {
  return (await byName.first(db, { name }))?.value
}

/** Stores the key unless there is one of this name. If two processes start at once, the second one waits, and the first key is kept. */
export async function addServiceKey(db: Db, name: ServiceKeyName, value: string): Promise<'added' | 'present'> {
  const { numInsertedOrUpdatedRows } = await rawDatabase(db)
    .insertInto('service_keys')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n ? 'added' : 'present'
}

export async function replaceServiceKey(db: Db, name: ServiceKeyName, value: string): Promise<void> {
  await rawDatabase(db)
    .insertInto('service_keys')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

export async function removeServiceKey(db: Db, name: ServiceKeyName): Promise<void> {
  await rawDatabase(db).deleteFrom('service_keys').where('name', '=', name).execute()
}
