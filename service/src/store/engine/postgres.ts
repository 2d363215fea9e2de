import type { RawBuilder } from 'kysely'
import { PostgresDialect, sql } from 'kysely'
import type { Pool } from 'pg'
import { storeLimits } from '../../limits.ts'
import type { RawDatabase } from '../database.ts'
import type { Tables } from '../schema.ts'
import type { StoreEngine } from './engine.ts'
import { serviceDialect } from './engine.ts'
import { postgresTrigrams } from './postgres-trigrams.ts'

const int8 = 20

export function postgresEngine(databaseUrl: string): StoreEngine {
  let pool: Pool | undefined
  async function open(): Promise<Pool> {
    pool = await openPool(databaseUrl)
    return pool
  }
  return {
    kyselyDialect: serviceDialect(new PostgresDialect({ pool: open }), {
      textPosition: 'strpos',
      runs: 'on-server',
      transactionsLock: 'rows',
      trigrams: postgresTrigrams,
      deleteRows: (tx, tables) => runAll(tx, tables, (table) => sql`delete from ${table}`),
    }),
    text: sql`text collate "C"`,
    rowId: 'bigint',
    autoId: (column) => column.primaryKey().generatedByDefaultAsIdentity(),
    lockRows: (tx, tables) =>
      runAll(tx, tables, (table) => sql`select count(*) from (select 1 from ${table} for update) as locked`),
    lockTable: async (tx, table) => {
      await sql`lock table ${sql.table(table)} in share row exclusive mode`.execute(tx)
    },
    continueIds: (tx, tables) =>
      runAll(
        tx,
        tables,
        (table, name) => sql`select setval(pg_get_serial_sequence(${name}, 'id'), max(id)) from ${table}`,
      ),
    // Autovacuum keeps the statistics up to date.
    describeIndexes: async () => undefined,
    connections() {
      const { totalCount = 0, idleCount = 0, waitingCount = 0 } = pool ?? {}
      return { in_use: totalCount - idleCount, idle: idleCount, waiting: waitingCount }
    },
  }
}

/**
 * Runs a statement for each table, in this order. They have no parameters, so that all of them go to PostgreSQL in one message
 * (https://www.postgresql.org/docs/current/protocol-flow.html, "Multiple Statements in a Simple Query").
 */
async function runAll(
  tx: RawDatabase,
  tables: readonly (keyof Tables)[],
  statementFor: (table: RawBuilder<unknown>, name: RawBuilder<string>) => RawBuilder<unknown>,
): Promise<void> {
  const statements = tables.map((name) => statementFor(sql.table(name), sql.lit(name)))
  await sql.join(statements, sql`; `).execute(tx)
}

/**
 * Opens the pool of this process (`storeLimits.connections`, 10). A wait ends with an error: for a connection (`connectMs`, 5 s), for a
 * lock (`lockWaitMs`, 3 s), for a statement (`statementMs`, 10 s), and for the next statement of an open transaction
 * (`idleTransactionMs`, 10 s). Imports `pg` here: the build of the
 * command puts this module into its one file, but not `pg`, and a static import of that would be carried out at every start.
 */
async function openPool(databaseUrl: string): Promise<Pool> {
  const { default: pg } = await import('pg')
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
