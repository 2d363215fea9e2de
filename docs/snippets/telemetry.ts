import { type Counter, type Histogram, metrics, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import type { BackendEvent } from 'agent-auth/backend'

const tracer: Tracer = trace.getTracer('agent-auth')
const meter = metrics.getMeter('agent-auth')
const durations: Histogram = meter.createHistogram('agent_auth.duration', { unit: 'ms' })
const happenings: Counter = meter.createCounter('agent_auth.events')

/** For `onEvent`: one counter for everything, and a span and a duration for what takes time. */
export function observe(event: BackendEvent): void {
  const { type, ...rest } = event
  const { durationMs, cause, ...others } = { durationMs: undefined, cause: undefined, ...rest }
  const attributes = { ...others, ...(cause && { cause: cause.code ?? cause.name }) }
  happenings.add(1, { type, ...attributes })
  if (durationMs === undefined) return
  durations.record(durationMs, { type, ...attributes })
  const endTime = Date.now()
  const span = tracer.startSpan(type, { startTime: endTime - durationMs, attributes })
  const failed = 'outcome' in event ? event.outcome !== 'ok' : 'status' in event && event.status >= 500
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end(endTime)
}
