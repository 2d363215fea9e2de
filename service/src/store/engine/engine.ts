import type { Dialect, DialectAdapter, Driver, RawBuilder } from 'kysely'
import type { RawDatabase } from '../database.ts'
import type { Tables } from '../schema.ts'

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
export interface QueryTraits {
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
 * Returns the dialect with two changes. Its adapter carries the traits. An error of a rollback is ignored, because the first error says
 * what happened: after some errors (a full disk, a lost connection) the engine has rolled back already, so that the rollback fails.
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
      return driver
    },
  }
}
