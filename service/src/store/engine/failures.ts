/**
 * Why a query failed: `conflict` when two transactions stood in each other's way and one was rolled back, `unavailable`
 * when the database is locked, full, read-only, stopping or not there. Neither has changed anything.
 */
export type Failure = 'conflict' | 'unavailable' | 'other'

/** SQLite: another connection wrote after this transaction began to read. */
const busySnapshot = 517
const serializationFailure = '40001'
const deadlock = '40P01'
/** Nothing here refers to a row that never was: a reset took it away between two queries. */
const foreignKeyViolation = '23503'
const conflictStates = [serializationFailure, deadlock, foreignKeyViolation]

/** SQLite's result codes, PostgreSQL's SQLSTATE classes and single states, and what the network says. */
const unavailableCode =
  /^(?:SQLITE_(?:BUSY|LOCKED|READONLY|FULL|IOERR|CANTOPEN|PROTOCOL)|(?:08|53|57|58)...$|25006$|25P03$|55P03$|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)/
/** `pg` gives these no code. */
const unavailableMessage = /^Connection terminated|^timeout exceeded when trying to connect|not queryable/

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return 'other'
  const { code, rawCode } = error as { code?: unknown; rawCode?: unknown }
  if (rawCode === busySnapshot || conflictStates.includes(String(code))) return 'conflict'
  if (typeof code === 'string') return unavailableCode.test(code) ? 'unavailable' : 'other'
  return unavailableMessage.test(error.message) ? 'unavailable' : 'other'
}
