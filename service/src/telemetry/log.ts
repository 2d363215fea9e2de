import type { EventEntry } from '../state/journal.ts'
import type { Failure, ObservedRequest } from './observed-request.ts'

export interface Log {
  request(request: ObservedRequest): void
  event(event: EventEntry): void
  failure(failure: Failure): void
  step(text: string, facts?: Record<string, string>): void
}

/** Writes one line for each request and event to the standard error, because the standard output has the secrets of a start. */
export async function createLog(format: 'json' | 'pretty'): Promise<Log> {
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
    event: ({ id, event, clientId, personId, tenant }: EventEntry) =>
      logger.info({ eventId: id, clientId, personId, tenant }, event),
    failure: ({ id, requestId, error }: Failure) =>
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
