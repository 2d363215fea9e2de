import { AgentAuthError } from '../../errors.ts'
import { abortable, withTimeout } from '../../internal/timeouts.ts'

/** A body up to this size is read before it is sent, so that it can be sent again after a 401. */
const maxBufferedBytes = 65_536
/** How much of a refused body is read, and for how long. More would cost more than a new connection. */
const [maxDrainedBytes, maxDrainMs] = [8_388_608, 30_000]
const maxBrowserSilenceMs = 120_000

/** What a proxied request waits for besides the response of the API. */
export type AwaitedPart = 'session' | 'token' | 'body'

/** What `requestBody` needs besides the request. */
export interface BodyOptions {
  readonly signal: AbortSignal
  readonly maxBytes: number
  /** Has `body` while a streamed body waits for its next bytes from the browser. */
  readonly awaited: Set<AwaitedPart>
  /** Called if a streamed body turns out to be unusable. */
  readonly onProblem: (problem: BodyProblem) => void
}

/** `too_large`: over the limit. `read_before`: other code read it, or a part of it, before the backend got the request. */
export type BodyProblem = 'too_large' | 'read_before'

/** A body to send to the API. */
export type ForwardedBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

/** The error of a body that cannot be sent to the API. A streamed body fails with it as well. */
export class UnusableBodyError extends Error {
  readonly problem: BodyProblem

  constructor(problem: BodyProblem) {
    super(problem)
    this.problem = problem
  }
}

/**
 * Returns the body to send to the API: a short one with a `Content-Length` as bytes, any other as a stream. Rejects with
 * `UnusableBodyError` if a problem is known before sending. A stream calls `onProblem` and fails with that error later.
 */
export async function requestBody(request: Request, options: BodyOptions): Promise<ForwardedBody | undefined> {
  if (/^(GET|HEAD)$/.test(request.method)) return undefined
  const declared = Number(request.headers.get('content-length') ?? Number.POSITIVE_INFINITY)
  if (declared > options.maxBytes && Number.isFinite(declared)) throw new UnusableBodyError('too_large')
  if (declared <= maxBufferedBytes) return wholeBody(request, declared, options)
  // Server adapters create the stream when the property is read, and a short body needs none.
  const { body } = request
  if (request.bodyUsed || body?.locked) throw new UnusableBodyError('read_before')
  if (body) return limitBody(body, request.headers, options)
  if (minBytes(request.headers) > 0) throw new UnusableBodyError('read_before')
  return undefined
}

async function wholeBody(
  request: Request,
  declared: number,
  { signal, maxBytes }: BodyOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  let bytes: Uint8Array<ArrayBuffer>
  try {
    bytes = new Uint8Array(await abortable(request.arrayBuffer(), signal))
  } catch (error) {
    // A body that was read rejects with a TypeError, a failed connection with other types. Fetch standard, section 5.3.
    throw error instanceof TypeError ? new UnusableBodyError('read_before') : error
  }
  if (bytes.length > maxBytes) throw new UnusableBodyError('too_large')
  if (bytes.length < declared) throw new UnusableBodyError('read_before')
  return bytes
}

/**
 * Returns how many bytes arrive at least if no other code has read the body. With `Transfer-Encoding` it is one, because a client of
 * HTTP/1.1 does not use that header for an empty body.
 */
function minBytes(headers: Headers): number {
  const declared = headers.get('content-length')
  return declared === null ? Number(headers.has('transfer-encoding')) : Number(declared)
}

/** Passes a body on up to the limit. Releases it when the signal fires, so that `drainBody` can read the rest. */
function limitBody(
  body: ReadableStream<Uint8Array>,
  headers: Headers,
  { signal, maxBytes, awaited, onProblem }: BodyOptions,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  signal.addEventListener('abort', () => reader.releaseLock(), { once: true })
  let size = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const refuse = (problem: BodyProblem): void => {
          onProblem(problem)
          controller.error(new UnusableBodyError(problem))
        }
        awaited.add('body')
        const { done, value } = await reader.read()
        awaited.delete('body')
        if (done) return size < minBytes(headers) ? refuse('read_before') : controller.close()
        size += value.byteLength
        return size > maxBytes ? refuse('too_large') : controller.enqueue(value)
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
  hasSessionEnded(): Promise<boolean> | boolean
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
