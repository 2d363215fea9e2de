import type { SqliteDatabase, SqliteStatement } from 'kysely'

const mostStatements = 200

/** Prepares each text once: a tenth of a refresh was parsing and planning the same dozen statements again. */
export function cachingStatements(database: SqliteDatabase): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(text) {
      const known = statements.get(text)
      if (known !== undefined) return known
      const statement = withFixedReader(database.prepare(text))
      // Searches have as many texts as shapes of filters; what was prepared first gives way.
      if (statements.size >= mostStatements) statements.delete(statements.keys().next().value ?? '')
      statements.set(text, statement)
      return statement
    },
    close() {
      statements.clear()
      database.close()
    },
  }
}

/** Whether a statement returns rows never changes, and asking libsql costs as much as a small query. */
function withFixedReader(statement: SqliteStatement): SqliteStatement {
  return {
    reader: statement.reader,
    all: (parameters) => statement.all(parameters),
    run: (parameters) => statement.run(parameters),
    iterate: (parameters) => statement.iterate(parameters),
  }
}
