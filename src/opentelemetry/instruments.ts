import type { Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api'

/** The metrics. docs/backend.md has a table of them. */
export interface Instruments {
  readonly durations: Histogram
  readonly logins: Counter
  readonly refreshes: Counter
  readonly sessionsEnded: Counter
  readonly sessionsLost: Counter
  readonly storageDegraded: Counter
  readonly storageErrors: Counter
  readonly refusals: Counter
  readonly waiting: UpDownCounter
  readonly unexpectedErrors: Counter
}

/** The limits of the buckets, in seconds, as the conventions of OpenTelemetry recommend for HTTP. */
const bucketsS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

export function createInstruments(meter: Meter): Instruments {
  const counter = (name: string, description: string): Counter =>
    meter.createCounter(`agent_auth.${name}`, { description })
  return {
    durations: meter.createHistogram('agent_auth.operation.duration', {
      description: 'Time of logins, code exchanges, refreshes and proxied requests.',
      unit: 's',
      advice: { explicitBucketBoundaries: bucketsS },
    }),
    logins: counter('logins', 'Logins that ended, by outcome.'),
    refreshes: counter('refreshes', 'Refresh requests, by outcome.'),
    sessionsEnded: counter('sessions.ended', 'Sessions that ended, by reason.'),
    sessionsLost: counter(
      'sessions.lost',
      'Sessions in memory whose record another process removed, or the storage lost.',
    ),
    storageDegraded: counter('storage.degraded', 'Problems with stored records, by reason.'),
    storageErrors: counter('storage.errors', 'Failed operations of the storage.'),
    refusals: counter('proxy.refused', 'Requests that the proxy refused, by reason.'),
    waiting: meter.createUpDownCounter('agent_auth.proxy.waiting', {
      description: 'Proxied requests of this process that wait for their turn.',
    }),
    unexpectedErrors: counter('unexpected_errors', 'Requests that failed with an error of other code.'),
  }
}
