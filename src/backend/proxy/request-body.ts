import { drainLimits, maxBufferedBodyBytes } from '../../internal/limits.ts'
import { abortable, withTimeout } from '../../internal/timeouts.ts'

/** What a proxied request waits for besides the response of the API: its body from the browser, a token of the session. */
export type AwaitedPart = 'body' | 'token'

/** What `requestBody` needs besides the request. */
export interface BodyOptions {
  readonly signal: AbortSignal
  readonly maxBytes: number
  /** Has `body` while the request waits for its body from the browser. forward.ts adds it at the start, `requestBody` for each chunk. */
  readonly awaited: Set<AwaitedPart>
  /** Called if a streamed body turns out to be unusable. */
  readonly onProblem: (problem: BodyProblem) => void
}

/**
 * `too_large`: over the limit (413). `read_before`: other code read it, or a part of it, before the backend got the request (500).
 * forward.ts responds.
 */
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
 * Returns the body to send to the API. A body with a short `Content-Length` (`maxBufferedBodyBytes`, 64 KiB) is returned as bytes. Any
 * other body is returned as a stream. After a 401, bytes can be sent again. A stream can be sent again if it has at most 1 MiB
 * (`maxReplayBytes`, bearer/resend.ts). No body may be larger than `maxBodyBytes` of the route (allowed-routes.ts). Rejects with
 * `UnusableBodyError` if the problem is known before sending. A stream calls `onProblem` and fails with that error later.
 */
export async function requestBody(request: Request, options: BodyOptions): Promise<ForwardedBody | undefined> {
  if (/^(GET|HEAD)$/.test(request.method)) return undefined
  const declared = Number(request.headers.get('content-length') ?? Number.POSITIVE_INFINITY)
  if (declared > options.maxBytes && Number.isFinite(declared)) throw new UnusableBodyError('too_large')
  if (declared <= maxBufferedBodyBytes) return wholeBody(request, declared, options)
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
 * Returns how many bytes arrive at least if no other code has read the body. With `Content-Length` it is that number. With
 * `Transfer-Encoding` it is one, because a client of HTTP/1.1 does not use that header for an empty body.
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
 * Reads the rest of the body of a request that was refused or failed, and keeps nothing of it: at most `drainLimits.maxBytes`, 8 MiB, for
 * at most `drainLimits.timeoutMs`, 30 s, and nothing if `Content-Length` is larger. If a server closes a connection on which the browser
 * is still sending, the response and the next request are lost. RFC 9112 section 9.6.
 */
export async function drainBody({ method, body, headers }: Request): Promise<void> {
  const { maxBytes, timeoutMs } = drainLimits
  const declared = Number(headers.get('content-length') ?? 0)
  if (/^(GET|HEAD)$/.test(method) || !body || body.locked || declared > maxBytes) return
  const reader = body.getReader()
  const readToEnd = async (): Promise<void> => {
    for (let left = maxBytes; left > 0; ) {
      const { done, value } = await reader.read()
      if (done) return
      left -= value.byteLength
    }
  }
  await withTimeout(timeoutMs, readToEnd()).catch(() => {})
  reader.cancel().catch(() => {})
}
