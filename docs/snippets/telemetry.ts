import type { BackendEvent } from 'agent-auth/backend'
import { createTelemetry } from 'agent-auth/opentelemetry'

const telemetry = createTelemetry()

/** For `onEvent` of `createBackend`: spans and metrics, and a line in the log. */
export function onEvent(event: BackendEvent): void {
  telemetry.onEvent(event)
  process.stderr.write(`${JSON.stringify(event)}\n`)
}
