import { sql } from 'kysely'
import type { RawDatabase } from '../../src/store/database.ts'
import { isOnPostgres } from './start.ts'

/** Lets the statements of this transaction take longer than the service allows, because a test may run on a busy machine. */
export async function removeStatementTimeout(transaction: RawDatabase): Promise<void> {
  if (isOnPostgres()) await sql`set local statement_timeout = 0`.execute(transaction)
}

/** Lets this transaction stay open without a statement for longer than the service allows. */
export async function removeIdleTimeout(transaction: RawDatabase): Promise<void> {
  if (isOnPostgres()) await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction)
}
