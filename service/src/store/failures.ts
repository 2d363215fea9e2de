/**
 * The reason why a query failed. `conflict`: two transactions conflicted and one was rolled back, so that it changed nothing, and
 * `transact` runs it again. Some transactions run again after `isLockTimeout` as well. `unavailable`: the database is
 * locked, full, read-only, stopping or away; a commit in progress may have taken effect.
 */
type DatabaseFailure = 'conflict' | 'unavailable' | 'other'

/** PostgreSQL: another transaction kept a lock for longer than `lockWaitMs`. */
const lockNotAvailable = '55P03'

/** PostgreSQL: the table does not exist. */
const undefinedTable = '42P01'

/** SQLite: another connection wrote after this transaction began to read. */
const busySnapshot = 517
const serializationFailure = '40001'
const deadlock = '40P01'
/** Only a reset that deleted the row between two queries causes it, because the service refers to existing rows only. */
const foreignKeyViolation = '23503'
const conflictStates: ReadonlySet<unknown> = new Set([serializationFailure, deadlock, foreignKeyViolation])

/** Error codes of the network. */
export const unreachedCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
const readOnlyTransaction = '25006'
const idleInTransaction = '25P03'
const unavailableStates: ReadonlySet<unknown> = new Set([readOnlyTransaction, idleInTransaction, lockNotAvailable])
/** An expression, because extended result codes of SQLite and states of PostgreSQL begin with the code of their class. */
const unavailableClass = /^(?:SQLITE_(?:BUSY|LOCKED|READONLY|FULL|IOERR|CANTOPEN|PROTOCOL)|(?:08|53|57|58)[0-9A-Z]{3}$)/
/** `pg` gives these errors no code. */
const unavailableMessage = /^Connection terminated|^timeout exceeded when trying to connect|not queryable/

/**
 * Returns whether a query of PostgreSQL gave up because another transaction kept a lock. It is always false on libSQL, because SQLite
 * reports that as `SQLITE_BUSY`, which counts as `unavailable`.
 */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === lockNotAvailable
}

/** Returns whether a query named a table that the database does not have. SQLite has no code for it. */
export function isMissingTable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (error as { code?: unknown }).code === undefinedTable || error.message.startsWith('no such table:')
}

/** Returns why a query failed. */
export function databaseFailureOf(error: unknown): DatabaseFailure {
  if (!(error instanceof Error)) return 'other'
  const { code, rawCode } = error as { code?: unknown; rawCode?: unknown }
  if (rawCode === busySnapshot || conflictStates.has(code)) return 'conflict'
  if (unreachedCodes.has(code) || unavailableStates.has(code)) return 'unavailable'
  if (typeof code === 'string') return unavailableClass.test(code) ? 'unavailable' : 'other'
  return unavailableMessage.test(error.message) ? 'unavailable' : 'other'
}
