const secondMs = 1_000
const mebibyte = 1_024 * 1_024

/** What one caller may take. `agent-service --help` and ASSUMPTIONS.md name the same figures. */
export const limits = {
  /** Code points. Searches read every description, and a page of answers holds up to 250 of them. */
  descriptionCharacters: 4_000,
  /** Queries of one tenant that run at the same time. PostgreSQL has ten connections for all tenants. */
  tenantCallsAtOnce: 4,
  /** Calls of one tenant that wait for these. */
  tenantCallsWaiting: 1_000,
  tenantWaitMs: 5 * secondMs,
  /** Bytes of one tenant's answers that its clients have not taken yet. */
  tenantUnsentBytes: 32 * mebibyte,
  /** A page of 250 rows of ordinary text fits in. */
  answerBytes: 8 * mebibyte,
} as const

/** A number of bytes as a message names it. */
export function inMebibytes(bytes: number): string {
  return `${bytes / mebibyte} MiB`
}
