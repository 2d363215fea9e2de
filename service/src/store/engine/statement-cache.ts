import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { storeLimits } from '../../limits.ts'

/**
 * Prepares each SQL text once (`preparedStatements`, 200 are kept), because parsing and planning the same statements again took a
 * tenth of a refresh.
 */
export function cachingStatements(database: SqliteDatabase): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(text) {
      const known = statements.get(text)
      if (known !== undefined) return known
      const statement = withFixedReader(database.prepare(text))
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
function withFixedReader(statement: SqliteStatement): SqliteStatement {
  return {
    reader: statement.reader,
    all: (parameters) => statement.all(parameters),
    run: (parameters) => statement.run(parameters),
    iterate: (parameters) => statement.iterate(parameters),
  }
}
