import type { ServiceConfig } from '../config.ts'
import type { EventEntry } from '../state/journal.ts'
import type { Log } from './log.ts'
import { createLog } from './log.ts'
import type { Metrics } from './metrics.ts'
import { createMetrics } from './metrics.ts'
import type { Failure, ObservedRequest } from './observed-request.ts'

/** What operators see of a running service: a log and metrics, if they are turned on. */
export interface Telemetry {
  /** Absent if neither a log nor metrics are on, so that a request costs nothing more. */
  readonly request?: (request: ObservedRequest) => void
  event(event: EventEntry): void
  failure(failure: Failure): void
  /** Logs a step in the life of the process. */
  step(text: string, facts?: Record<string, string>): void
  /** Absent if metrics are off. */
  readonly metrics?: Pick<Metrics, 'gauge' | 'text'>
}

/** Creates the log and the metrics that the configuration asks for. */
export async function createTelemetry({ log: format, metrics: counts }: ServiceConfig): Promise<Telemetry> {
  const log: Log | undefined = format === 'off' ? undefined : await createLog(format)
  const metrics: Metrics | undefined = counts === 'off' ? undefined : createMetrics()
  const isObserving = log !== undefined || metrics !== undefined
  function request(observed: ObservedRequest): void {
    log?.request(observed)
    metrics?.request(observed)
  }
  return {
    ...(isObserving ? { request } : {}),
    event(event) {
      log?.event(event)
      metrics?.event(event)
    },
    failure: (failure) => log?.failure(failure),
    step: (text, facts) => log?.step(text, facts),
    ...(metrics === undefined ? {} : { metrics }),
  }
}
