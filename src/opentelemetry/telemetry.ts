import { type Meter, metrics, type Tracer, trace } from '@opentelemetry/api'
import type { BackendEvent } from '../backend/events.ts'
import { checkOptions, type OptionKinds } from '../config/check-options.ts'
import { eventRecorder } from './record.ts'

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

const optionKinds: OptionKinds<TelemetryOptions> = {
  tracer: { methods: ['startSpan'] },
  meter: { methods: ['createCounter', 'createHistogram'] },
}

/**
 * Creates a listener for `onEvent` of `createBackend` and `createAuthConfig`. It makes spans of logins, token requests and proxied
 * requests, and counts what else happens. The tracer and the meter are taken at the first event, so the SDK may start after this
 * call. No attribute holds a token, a URL, a user or a session. Throws `config_invalid`.
 */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  const { tracer, meter } = checkOptions('createTelemetry', options, optionKinds)
  let record: ((event: BackendEvent) => void) | undefined
  return Object.freeze<Telemetry>({
    onEvent(event) {
      record ??= eventRecorder(tracer ?? trace.getTracer('agent-auth'), meter ?? metrics.getMeter('agent-auth'))
      record(event)
    },
  })
}
