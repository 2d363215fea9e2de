import { AgentAuthError } from '../../errors.ts'
import { abortable, withTimeout } from '../../internal/timeouts.ts'

/** A body up to this size is read before it is sent, so that it can be sent again after a 401. */
const maxBufferedBytes = 65_536
/** How much of a refused body is read, and for how long. More would cost more than a new connection. */
const [maxDrainedBytes, maxDrainMs] = [8_388_608, 30_000]
const maxBrowserSilenceMs = 120_000

/** `too_large`: over the limit. `read_before`: other code read it, or a part of it, before the backend got the request. */
export type BodyProblem = 'too_large' | 'read_before'

/** How far a proxied request has come. */
export interface Progress {
  /** What it waits for besides the response of the API. */
  readonly awaits: Set<'session' | 'token' | 'body'>
  /** Why its body cannot be sent, if so. `fetch` rejects with an error of its own when a streamed body fails. */
  problem?: BodyProblem
}

export interface BodyOptions {
  readonly signal: AbortSignal
  readonly maxBytes: number
  readonly progress: Progress
}

/**
 * Returns the body to send to the API: a short one with a `Content-Length` as bytes, any other as a stream. If it turns out to be unusable,
 * `progress.problem` is set, and the call rejects, or the stream fails.
 */
export async function requestBody(
  request: Request,
  options: BodyOptions,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null> {
  if (/^(GET|HEAD)$/.test(request.method)) return null
  const { headers } = request
  const declared = headers.get('content-length')
  // A client of HTTP/1.1 does not use `Transfer-Encoding` for an empty body.
  const minBytes = Number(declared ?? headers.has('transfer-encoding'))
  if (minBytes > options.maxBytes) throw unusable('too_large', options)
  if (declared !== null && minBytes <= maxBufferedBytes) return wholeBody(request, minBytes, options)
  // Server adapters create the stream when the property is read, and a short body needs none.
  const { body } = request
  if (request.bodyUsed || body?.locked || (!body && minBytes > 0)) throw unusable('read_before', options)
  return body && limitBody(body, minBytes, options)
}

function unusable(problem: BodyProblem, { progress }: BodyOptions): Error {
  progress.problem = problem
  return new Error(problem)
}

async function wholeBody(
  request: Request,
  declaredBytes: number,
  options: BodyOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await abortable(request.arrayBuffer(), options.signal).catch((error) => {
    // A body that was read rejects with a TypeError, a failed connection with other types. Fetch standard, section 5.3.
    throw error instanceof TypeError ? unusable('read_before', options) : error
  })
  if (bytes.byteLength > options.maxBytes) throw unusable('too_large', options)
  if (bytes.byteLength < declaredBytes) throw unusable('read_before', options)
  return new Uint8Array(bytes)
}

/** Passes a body on up to the limit. Releases it when the signal fires, so that `drainBody` can read the rest. */
function limitBody(
  body: ReadableStream<Uint8Array>,
  minBytes: number,
  options: BodyOptions,
): ReadableStream<Uint8Array> {
  const { signal, maxBytes, progress } = options
  const reader = body.getReader()
  signal.addEventListener('abort', () => reader.releaseLock(), { once: true })
  let size = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        progress.awaits.add('body')
        const { done, value } = await reader.read()
        progress.awaits.delete('body')
        if (done && size < minBytes) return controller.error(unusable('read_before', options))
        if (done) return controller.close()
        size += value.byteLength
        if (size > maxBytes) return controller.error(unusable('too_large', options))
        controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Reads the rest of the body of a request that was refused or failed, up to a limit, and keeps nothing of it. If a server closes a
 * connection on which the browser is still sending, the response and the next request are lost. RFC 9112 section 9.6.
 */
export async function drainBody({ method, body, headers }: Request): Promise<void> {
  const declared = Number(headers.get('content-length') ?? 0)
  if (/^(GET|HEAD)$/.test(method) || !body || body.locked || declared > maxDrainedBytes) return
  const reader = body.getReader()
  const readToEnd = async (): Promise<void> => {
    for (let left = maxDrainedBytes; left > 0; ) {
      const { done, value } = await reader.read()
      if (done) return
      left -= value.byteLength
    }
  }
  await withTimeout(maxDrainMs, readToEnd()).catch(() => {})
  reader.cancel().catch(() => {})
}

export interface RelayOptions {
  /** How long the API may send nothing. */
  readonly maxApiSilenceMs: number
  /** Asked before each chunk is passed on. */
  hasSessionEnded(): Promise<boolean>
  /** Called once when no more of a response is sent. `interruption` is set if the API or the end of the session is the reason. */
  onEnd(how: 'complete' | 'broken', interruption?: unknown): void
}

/**
 * Passes the body of a response on, one chunk at a time. If the API sends nothing for too long, the browser reads nothing for too long, or
 * the session has ended, the connection breaks off.
 */
export function relayBody(
  body: ReadableStream<Uint8Array>,
  { maxApiSilenceMs, hasSessionEnded, onEnd }: RelayOptions,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let timer: ReturnType<typeof setTimeout> | undefined
  let state: 'open' | 'ended' = 'open'
  // Ending a response aborts the request, which fails the read in progress. Only the first reason counts.
  const end: RelayOptions['onEnd'] = (how, interruption) => {
    if (state === 'ended') return
    state = 'ended'
    clearTimeout(timer)
    onEnd(how, interruption)
  }
  const fail = (controller: ReadableStreamDefaultController, interruption?: unknown): void => {
    // The error of a connection may quote the bytes that it carried, so the browser's stream gets another one.
    controller.error(new Error('The response of the API ended early.'))
    end('broken', interruption)
  }
  const failAfter = (waitMs: number, controller: ReadableStreamDefaultController, interruption?: unknown): void => {
    clearTimeout(timer)
    timer = setTimeout(() => fail(controller, interruption), waitMs)
  }
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => failAfter(maxBrowserSilenceMs, controller),
      async pull(controller) {
        failAfter(maxApiSilenceMs, controller, apiSilence(maxApiSilenceMs))
        try {
          const { done, value } = await reader.read()
          // The API has answered. The check may read a storage, which has a time limit of its own.
          clearTimeout(timer)
          const isSessionOver = value !== undefined && (await hasSessionEnded())
          if (state === 'ended') return
          if (isSessionOver) return fail(controller, sessionOver())
          failAfter(maxBrowserSilenceMs, controller)
          if (!done) return controller.enqueue(value)
          controller.close()
          end('complete')
        } catch (error) {
          fail(controller, error)
        }
      },
      cancel: () => end('broken'),
    },
    { highWaterMark: 0 },
  )
}

function sessionOver(): AgentAuthError {
  return new AgentAuthError('session_ended', 'The session ended, so the rest of its response is not passed on.')
}

function apiSilence(maxApiSilenceMs: number): AgentAuthError {
  return new AgentAuthError('timeout', `The API sent nothing for ${maxApiSilenceMs / 1_000} s within a response.`)
}
