/** Health, metrics and logs. */
export const telemetryLimits = {
  /** How long `/readyz` waits for the database. */
  readyMs: 2_000,
  /** Requests and events that are kept until the package of the metrics is loaded: at most about 1 MB. */
  keptObservations: 1_000,
} as const
