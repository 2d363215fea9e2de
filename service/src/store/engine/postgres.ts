import { PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { storeLimits } from '../../limits.ts'
import type { StoreEngine } from './engine.ts'
import { serviceDialect } from './engine.ts'

const int8 = 20

export function postgresEngine(databaseUrl: string): StoreEngine {
  return {
    kyselyDialect: serviceDialect(new PostgresDialect({ pool: async () => openPool(databaseUrl) }), {
      textPosition: 'strpos',
      runs: 'on-server',
    }),
    text: sql`text collate "C"`,
    rowId: 'bigint',
    autoId: (column) => column.primaryKey().generatedByDefaultAsIdentity(),
    lockRows: async (tx, table) => {
      await sql`select 1 from ${sql.table(table)} for update`.execute(tx)
    },
    lockTable: async (tx, table) => {
      await sql`lock table ${sql.table(table)} in share row exclusive mode`.execute(tx)
    },
    // Autovacuum keeps the statistics up to date.
    describeIndexes: async () => undefined,
  }
}

function openPool(databaseUrl: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: storeLimits.connections,
    connectionTimeoutMillis: storeLimits.connectMs,
    lock_timeout: storeLimits.lockWaitMs,
    statement_timeout: storeLimits.statementMs,
    idle_in_transaction_session_timeout: storeLimits.idleTransactionMs,
    application_name: 'agent-service',
    keepAlive: true,
    allowExitOnIdle: true,
    // Times, counts and ids are below 2^53, so int8 can be a number, as in the other engine.
    types: { getTypeParser: (oid, format) => (oid === int8 ? Number : pg.types.getTypeParser(oid, format)) },
  })
  // Without a listener, a connection that breaks while it is idle would end the process. The next query gets another one.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}
