/** What one caller may take. `agent-service --help` and ASSUMPTIONS.md name the same figures. */
export const limits = {
  /** A search may read all of them. No endpoint removes an agent. */
  agentsPerTenant: 10_000,
  /** Code points. Searches read every description, and a page of answers holds up to 250 of them. */
  descriptionCharacters: 4_000,
  /** Code points. A name has 500, and NFC writes each as up to 3 in the name and in the key. */
  filterCharacters: 1_500,
  /** Queries of one tenant that run at the same time. PostgreSQL has ten connections for all tenants. */
  tenantCallsAtOnce: 4,
  /** Calls of one tenant that wait for these. */
  tenantCallsWaiting: 1_000,
  tenantWaitMs: 5_000,
  /** 32 MiB: bytes of one tenant's answers that its clients have not taken yet. */
  tenantUnsentBytes: 33_554_432,
  /** 8 MiB: a page of 250 rows of ordinary text fits in. */
  answerBytes: 8_388_608,
  /** Authorization requests of one sign-in session. Before a sign-in the page carries its request. */
  requestsPerSession: 20,
  /** Open at once on each of the two hosts (S-085, A-47). */
  connections: 2_000,
  /** Half of them, so that one address leaves room for the others. */
  connectionsPerAddress: 1_000,
  /** Requests that a connection may send before its first one is answered. */
  pipelinedRequests: 16,
  /** An answer of which the client takes nothing for so long is given up. */
  stalledAnswerMs: 20_000,
  /** From the headers of a request to the last byte of its answer. */
  answerMs: 120_000,
} as const

/** A number of bytes as a message names it. */
export function inMebibytes(bytes: number): string {
  return `${bytes / (1_024 * 1_024)} MiB`
}
