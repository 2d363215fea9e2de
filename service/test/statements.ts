import type { KyselyPlugin, QueryId } from 'kysely'
import type { Assembly } from '../src/app.ts'

export interface Statement {
  sql: string
  parameters: readonly unknown[]
}

export interface StatementHooks {
  /** Sees each statement before it runs; what it throws, the database seems to have thrown. */
  before?: (statement: Statement) => void
  /** Runs after the statement was done, inside its transaction if there is one. */
  after?: (statement: Statement) => void
}

/** From now on every statement of the service passes by the hooks. */
export function observe({ context: { store } }: Assembly, { before, after }: StatementHooks): void {
  const { db } = store
  const running = new WeakMap<QueryId, Statement>()
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      const { sql, parameters } = db.getExecutor().compileQuery(node, queryId)
      const statement = { sql, parameters }
      running.set(queryId, statement)
      before?.(statement)
      return node
    },
    async transformResult({ result, queryId }) {
      const statement = running.get(queryId)
      if (statement !== undefined) after?.(statement)
      return result
    },
  }
  Object.assign(store, { db: db.withPlugin(plugin) })
}
