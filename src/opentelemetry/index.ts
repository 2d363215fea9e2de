export { createTelemetry, type Telemetry, type TelemetryOptions } from './telemetry.ts'
