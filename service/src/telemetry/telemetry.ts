import type { ServiceConfig } from '../config.ts'
import type { EventEntry, RequestEntry } from '../state.ts'

/** One request for the log: its line of the journal, which holds no secret, and how it went. */
export interface ObservedRequest extends Omit<RequestEntry, 'kind' | 'atMs'> {
  /** The value of `X-Request-Id`. */
  requestId: string
  /** The pattern of the route, or `other`. */
  route: string
  durationMs: number
  /** The error code of a refusal, if the response has one. */
  refusal?: string
}

/** What operators see of a running service. */
export interface Telemetry {
  /** Absent if the log is off, so that a request costs nothing more. */
  readonly request?: (request: ObservedRequest) => void
  event(event: EventEntry): void
  /** Logs an error that no handler expected. */
  failure(failure: { id: string; requestId: string; error: unknown }): void
  /** Logs a step in the life of the process. */
  step(text: string, facts?: Record<string, string>): void
}

/** Writes one line for each request and event to the standard error, because the standard output has the secrets of a start. */
export async function createTelemetry({ log: format }: Pick<ServiceConfig, 'log'>): Promise<Telemetry> {
  if (format === 'off') return { event: () => {}, failure: () => {}, step: () => {} }
  // Imported only when a log is on, because loading modules takes most of a start.
  const { pino, destination, stdTimeFunctions } = await import('pino')
  const stream =
    format === 'json'
      ? destination({ dest: process.stderr.fd, sync: true })
      : (await import('pino-pretty')).default({ destination: process.stderr.fd, sync: true, ignore: 'pid' })
  // Without a listener, a reader that goes away would end the process.
  stream.on('error', () => undefined)
  const labels = { level: (label: string) => ({ level: label }) }
  const logger = pino({ base: { pid: process.pid }, timestamp: stdTimeFunctions.isoTime, formatters: labels }, stream)
  return {
    request: (request) => logger[request.status >= 500 ? 'error' : 'info'](request, 'request'),
    event: ({ id, event, clientId, personId, tenant }) =>
      logger.info({ eventId: id, clientId, personId, tenant }, event),
    failure: ({ id, requestId, error }) =>
      logger.error({ failureId: id, requestId, ...factsOf(error) }, 'unexpected error'),
    step: (text, facts) => logger.info({ ...facts }, text),
  }
}

/** Leaves out the message of an error, because it may quote what a request or the database held. */
function factsOf(error: unknown): { name: string; code?: string; frames: string[] } {
  const { name, code, stack } = error as { name?: unknown; code?: unknown; stack?: unknown }
  const lines = typeof stack === 'string' ? stack.split('\n') : []
  const frames = lines.filter((line) => /^ {4}at /.test(line)).map((line) => line.trim())
  return { name: String(name ?? 'Error'), ...(typeof code === 'string' ? { code } : {}), frames }
}
