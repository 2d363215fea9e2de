import type { AliasableExpression, Compilable, CompiledQuery, DialectAdapter, QueryResult } from 'kysely'
import { sql } from 'kysely'
import type { Db, RawDatabase } from '../database.ts'
import { rawDatabase } from '../database.ts'

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

/**
 * Builds and compiles a query once per database, at its first use, because that takes several times as long as running it.
 * The compiled query belongs to the database's adapter, the one object that a connection and its transactions share.
 */
export function prepare<Values extends object, Row>(
  build: (db: RawDatabase, slots: Slots<Values>) => Compilable<Row>,
): Prepared<Values, Row> {
  const compiled = new WeakMap<DialectAdapter, CompiledQuery<Row>>()

  function compile(db: RawDatabase): CompiledQuery<Row> {
    const query = build(db, slotsFor<Values>()).compile()
    compiled.set(db.getExecutor().adapter, query)
    return query
  }
  async function execute(handle: Db, values: Values): Promise<QueryResult<Row>> {
    const db = rawDatabase(handle)
    const query = compiled.get(db.getExecutor().adapter) ?? compile(db)
    const parameters = query.parameters.map((parameter) =>
      parameter instanceof Slot ? values[parameter.name as keyof Values] : parameter,
    )
    return db.executeQuery({ ...query, parameters })
  }
  return {
    all: async (db, values) => (await execute(db, values)).rows,
    first: async (db, values) => (await execute(db, values)).rows[0],
    run: async (db, values) => Number((await execute(db, values)).numAffectedRows ?? 0n),
  }
}

function slotsFor<Values extends object>(): Slots<Values> {
  return new Proxy({} as Slots<Values>, { get: (_, name) => sql.val(new Slot(String(name))) })
}
