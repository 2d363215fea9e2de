import type { CompiledQuery, ConnectionProvider, QueryExecutor } from 'kysely'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'

export interface Statement {
  sql: string
  parameters: readonly unknown[]
}

export interface StatementHooks {
  /** Sees each statement before it runs; what it throws, the database seems to have thrown. */
  before?: (statement: Statement) => void
  /** Runs after the statement was done, inside its transaction if there is one, whose next statement waits for it. */
  after?: (statement: Statement) => unknown
}

/** From now on every statement of the service passes by the hooks, whether it was built now or prepared before. */
export function observe({ context: { store } }: Assembly, hooks: StatementHooks): void {
  watch(rawDatabase(store.db).getExecutor(), hooks)
}

function watch(executor: QueryExecutor, hooks: StatementHooks): QueryExecutor {
  const { executeQuery, withConnectionProvider } = executor
  return Object.assign(executor, {
    async executeQuery(statement: CompiledQuery) {
      hooks.before?.(statement)
      const result = await executeQuery.call(executor, statement)
      await hooks.after?.(statement)
      return result
    },
    // What a transaction runs on.
    withConnectionProvider: (provider: ConnectionProvider) =>
      watch(withConnectionProvider.call(executor, provider), hooks),
  })
}
