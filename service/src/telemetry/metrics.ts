import type { EventEntry } from '../state/journal.ts'
import { telemetryLimits } from './limits.ts'
import type { ObservedRequest } from './observed-request.ts'
import type { GaugeSource, Recorder } from './recorder.ts'
import { createRecorder } from './recorder.ts'

export interface Metrics {
  request(request: ObservedRequest): void
  event(event: EventEntry): void
  /** Adds a figure that is read with each scrape. */
  gauge(source: GaugeSource): void
  /** Returns the metrics as Prometheus reads them. */
  text(): Promise<{ contentType: string; body: string }>
}

/**
 * Counts requests and events. Until the first scrape it keeps them (`keptObservations`, 1,000), so that a start does not load the
 * package.
 */
export function createMetrics(): Metrics {
  const sources: GaugeSource[] = []
  let kept: ((recorder: Recorder) => void)[] = []
  let recorder: Recorder | undefined
  let loading: Promise<Recorder> | undefined

  function load(): Promise<Recorder> {
    loading ??= createRecorder(sources).then(
      (created) => {
        recorder = created
        for (const observe of kept.splice(0)) observe(created)
        return created
      },
      (error: unknown) => {
        loading = undefined
        kept = []
        throw error
      },
    )
    return loading
  }
  function observe(observation: (recorder: Recorder) => void): void {
    if (recorder === undefined) kept.push(observation)
    else observation(recorder)
    if (kept.length >= telemetryLimits.keptObservations) load().catch(() => undefined)
  }
  return {
    request: (request) => observe((to) => to.request(request)),
    event: ({ event }) => observe((to) => to.event(event)),
    gauge: (source) => {
      sources.push(source)
      recorder?.gauge(source)
    },
    text: async () => (await load()).text(),
  }
}
