import { type Attributes, type Meter, metrics, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import type { BackendEvent } from '../backend/events.ts'
import { checkMethods, checkNames } from '../internal/values.ts'

/** The options of `createTelemetry`. */
export interface TelemetryOptions {
  /** Makes the spans. Default: `trace.getTracer('agent-auth')`. */
  readonly tracer?: Tracer | undefined
  /** Makes the metrics. Default: `metrics.getMeter('agent-auth')`. */
  readonly meter?: Meter | undefined
}

/** Records the events of backends and sessions with OpenTelemetry. */
export interface Telemetry {
  /** Records an event. Pass it as the option `onEvent`. It needs no `this`. */
  readonly onEvent: (event: BackendEvent) => void
}

/**
 * Creates a listener for `onEvent` of `createBackend` and `createAuthConfig`. It makes spans of logins, token requests and proxied
 * requests, and counts what else happens. The tracer and the meter are taken at the first event, so the SDK may start after this
 * call. No attribute holds a token, a URL, a user or a session. Throws `config_invalid`.
 */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  const { tracer, meter } = checkNames('createTelemetry', options, ['tracer', 'meter'])
  if (tracer !== undefined) checkMethods('tracer', tracer, ['startSpan'])
  if (meter !== undefined) checkMethods('meter', meter, ['createCounter', 'createHistogram'])
  let record: ((event: BackendEvent) => void) | undefined
  return Object.freeze<Telemetry>({
    onEvent(event) {
      record ??= eventRecorder(tracer ?? trace.getTracer('agent-auth'), meter ?? metrics.getMeter('agent-auth'))
      record(event)
    },
  })
}

/** Returns a function that records events. Each attribute is named here, so that none holds more than is meant. */
function eventRecorder(tracer: Tracer, meter: Meter): (event: BackendEvent) => void {
  const to = createInstruments(meter)

  /**
   * Makes a span that has ended already, and a duration. The active span of the request becomes its parent. `error` is a code, or undefined
   * for a success.
   */
  function operation(name: string, durationMs: number, error: string | undefined, own: Attributes = {}): void {
    const attributes = error === undefined ? own : { ...own, 'error.type': error }
    to.durations.record(durationMs / 1_000, { 'agent_auth.operation': name, ...attributes })
    const endTime = Date.now()
    const span = tracer.startSpan(`agent_auth.${name}`, { startTime: endTime - durationMs, attributes })
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(endTime)
  }

  return (event) => {
    switch (event.type) {
      case 'token_request': {
        const { grant, outcome, status, durationMs } = event
        const name = grant === 'refresh_token' ? 'refresh' : 'exchange'
        if (name === 'refresh') to.refreshes.add(1, { 'agent_auth.outcome': outcome })
        return operation(name, durationMs, outcome === 'ok' ? undefined : outcome, statusOf(status))
      }
      case 'login_finished':
        to.logins.add(1, { 'agent_auth.outcome': 'ok' })
        return operation('login', event.durationMs, undefined)
      case 'login_failed':
        to.logins.add(1, { 'agent_auth.outcome': event.code })
        return operation('login', event.durationMs, event.code)
      case 'proxied': {
        const { route, status, durationMs, cause } = event
        const error = cause ? codeOf(cause) : String(status)
        const attributes = { ...routeOf(route), ...statusOf(status) }
        return operation('proxy', durationMs, status >= 500 ? error : undefined, attributes)
      }
      case 'proxy_refused':
        return to.refusals.add(1, { ...routeOf(event.route), 'agent_auth.reason': event.reason })
      case 'session_ended':
        if (event.reason === 'store_lost') return to.sessionsLost.add(1)
        return to.sessionsEnded.add(1, { 'agent_auth.reason': event.reason })
      case 'login_required':
        return to.sessionsEnded.add(1, { 'agent_auth.reason': 'expired' })
      case 'ended_session_removed':
        return to.sessionsEnded.add(1, { 'agent_auth.reason': 'ended' })
      case 'storage_degraded':
        return to.storageDegraded.add(1, { 'agent_auth.reason': event.reason })
      case 'storage_error':
        return to.storageErrors.add(1, { 'agent_auth.operation': event.operation, 'error.type': codeOf(event.cause) })
      case 'unexpected_error':
        return to.unexpectedErrors.add(1, { ...routeOf(event.route), 'error.type': codeOf(event.cause) })
    }
  }
}

function statusOf(status: number | undefined): Attributes {
  return status === undefined ? {} : { 'http.response.status_code': status }
}

/** Splits the template of a route, which has the names of its parameters and not their values. */
function routeOf(template: string): Attributes {
  const [method = '', path] = template.split(' ')
  return path ? { 'http.request.method': method, 'http.route': path } : { 'http.request.method': method }
}

function codeOf({ code, name }: { readonly code?: string; readonly name: string }): string {
  return code ?? name
}

/** The limits of the buckets, in seconds, as the conventions of OpenTelemetry recommend for HTTP. */
const bucketsS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** Creates the metrics. */
function createInstruments(meter: Meter) {
  const counter = (name: string, description: string) => meter.createCounter(`agent_auth.${name}`, { description })
  return {
    durations: meter.createHistogram('agent_auth.operation.duration', {
      description: 'Time of logins, code exchanges, refreshes and proxied requests.',
      unit: 's',
      advice: { explicitBucketBoundaries: bucketsS },
    }),
    logins: counter('logins', 'Logins that ended, by outcome.'),
    refreshes: counter('refreshes', 'Refresh requests, by outcome.'),
    sessionsEnded: counter('sessions.ended', 'Sessions that ended, by reason.'),
    sessionsLost: counter('sessions.lost', 'Sessions in memory whose record is gone from the storage.'),
    storageDegraded: counter('storage.degraded', 'Problems with stored records, by reason.'),
    storageErrors: counter('storage.errors', 'Failed operations of the storage.'),
    refusals: counter('proxy.refused', 'Requests that the proxy refused, by reason.'),
    unexpectedErrors: counter('unexpected_errors', 'Requests that failed with an error of other code.'),
  }
}
