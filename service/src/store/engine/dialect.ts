import type { ColumnDefinitionBuilder, Dialect, DialectAdapter, Driver, Kysely, RawBuilder } from 'kysely'
import type { Tables } from '../schema.ts'

/** Everything that differs between database engines. No file outside this folder may know which one is in use. */
export interface StoreDialect {
  readonly dialect: Dialect
  /** Text that compares and sorts by code point, in every engine and whatever the database's language is. */
  readonly text: 'text' | RawBuilder<unknown>
  /** Holds every whole number that a filter can ask for. */
  readonly rowId: 'integer' | 'bigint'
  /** A row id that the database hands out. */
  autoId(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder
  /** Lets nobody change these rows or add others that refer to them until the transaction ends. */
  lockRows(tx: Kysely<Tables>, table: keyof Tables): Promise<void>
  /** Lets no other transaction write to this table until the transaction ends, and waits for those that have. */
  lockTable(tx: Kysely<Tables>, table: keyof Tables): Promise<void>
  /** Tells a planner that counts nothing by itself how many rows share the first columns of each index. */
  describeIndexes(db: Kysely<unknown>, table: string, selectivity: Record<string, number[]>): Promise<void>
}

/** The engine's function that tells where in a text another one begins, from 1 on; 0 is nowhere. */
export type TextPosition = 'instr' | 'strpos'

/** It is kept with the adapter, the one object that a connection and its transactions share. */
export function textPositionOf(db: Kysely<Tables>): TextPosition {
  return (db.getExecutor().adapter as DialectAdapter & { textPosition: TextPosition }).textPosition
}

/**
 * After some failures (a full disk, a lost connection) the engine has rolled back already, and the rollback that
 * follows fails too. What is worth telling is the first failure, so the second is dropped.
 */
export function keepingFirstFailure(dialect: Dialect, textPosition: TextPosition): Dialect {
  return {
    createAdapter: () => Object.assign(dialect.createAdapter(), { textPosition }),
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
