import { performance } from 'node:perf_hooks'
import type { SecurityEvent } from '../state/journal.ts'
import type { ObservedRequest } from './observed-request.ts'

/** A figure with one value, or with one for each value of a label. */
export interface GaugeSource {
  name: string
  help: string
  /** The name of the label, if `read` returns several values. */
  label?: 'host' | 'state'
  read(): number | Record<string, number>
}

export interface Recorder {
  request(request: ObservedRequest): void
  event(event: SecurityEvent): void
  gauge(source: GaugeSource): void
  text(): Promise<{ contentType: string; body: string }>
}

/** From 1 ms to 10 s: a token request takes a few, a sign-in half a second, a call that waits for its turn seconds. */
const bucketsS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const processFigures: GaugeSource[] = [
  {
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process in bytes.',
    read: () => process.memoryUsage.rss(),
  },
  {
    name: 'agent_service_process_cpu_seconds',
    help: 'Processor time of the process since its start in seconds.',
    read: () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
  },
  {
    name: 'agent_service_event_loop_utilization',
    help: 'Part of the time since the start in which the event loop was busy, from 0 to 1.',
    read: () => performance.eventLoopUtilization().utilization,
  },
]

/** Creates the metrics of one service. No label has a secret, a person, a client, a tenant or a path. */
export async function createRecorder(sources: readonly GaugeSource[]): Promise<Recorder> {
  const { Counter, Gauge, Histogram, Registry } = await import('prom-client')
  const registry = new Registry()
  const registers = [registry]
  const durations = new Histogram({
    name: 'agent_service_request_duration_seconds',
    help: 'Time from a request to its response, by host, method, route and status.',
    labelNames: ['host', 'method', 'route', 'status'] as const,
    buckets: bucketsS,
    registers,
  })
  const refusals = new Counter({
    name: 'agent_service_refusals_total',
    help: 'Refused requests, by host and error code; status_… where the response has no code.',
    labelNames: ['host', 'code'] as const,
    registers,
  })
  const tokens = new Counter({
    name: 'agent_service_tokens_issued_total',
    help: 'Token responses, by grant type.',
    labelNames: ['grant_type'] as const,
    registers,
  })
  const events = new Counter({
    name: 'agent_service_security_events_total',
    help: 'Security events, by name.',
    labelNames: ['event'] as const,
    registers,
  })
  function gauge({ name, help, label, read }: GaugeSource): void {
    new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers,
      collect() {
        const values = read()
        if (typeof values === 'number') return this.set(values)
        for (const [value, figure] of Object.entries(values)) this.set({ [label ?? '']: value }, figure)
      },
    })
  }
  for (const source of [...processFigures, ...sources]) gauge(source)
  return {
    request({ origin: host, method, route, status, durationMs, refusal, grantType }) {
      const labels = { host, method: methods.includes(method) ? method : 'other', route, status }
      durations.observe(labels, durationMs / 1_000)
      const code = refusal ?? (status >= 400 ? `status_${status}` : undefined)
      if (code !== undefined) refusals.inc({ host, code })
      else if (grantType !== undefined && status === 200) tokens.inc({ grant_type: grantType })
    },
    event: (event) => events.inc({ event }),
    gauge,
    text: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  }
}
