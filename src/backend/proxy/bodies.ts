import { AgentAuthError } from '../../errors.ts'
import { abortable, within } from '../../internal/timeouts.ts'

const maxBytes = 1_048_576
/** Up to here a body is read before it is sent, so that a 401 can be answered by sending it again. */
const maxHeldBytes = 65_536

/** `too_large`: over 1 MiB. `read_before`: other code read it, or a part of it, before the backend got the request. */
export type BodyProblem = 'too_large' | 'read_before'

/** Thrown for a body that cannot be sent on, also into its stream. */
export class UnfitBody extends Error {
  readonly problem: BodyProblem

  constructor(problem: BodyProblem) {
    super(problem)
    this.problem = problem
  }
}

/** The body to send on. Rejects with `UnfitBody` when that is known beforehand; a stream fails with it later. */
export async function requestBody(
  request: Request,
  signal: AbortSignal,
  onUnfit: (problem: BodyProblem) => void,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined> {
  if (/^(GET|HEAD)$/.test(request.method)) return undefined
  const declared = Number(request.headers.get('content-length') ?? Number.POSITIVE_INFINITY)
  if (declared > maxBytes && Number.isFinite(declared)) throw new UnfitBody('too_large')
  if (declared <= maxHeldBytes) return wholeBody(request, declared, signal)
  // Only here: a bridge makes the stream when the property is read, and reading the whole body needs none.
  const { body } = request
  if (request.bodyUsed || body?.locked) throw new UnfitBody('read_before')
  if (body) return limited(body, request.headers, { signal, onUnfit })
  if (minBytes(request.headers) > 0) throw new UnfitBody('read_before')
  return undefined
}

async function wholeBody(request: Request, declared: number, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  let bytes: Uint8Array<ArrayBuffer>
  try {
    bytes = new Uint8Array(await abortable(request.arrayBuffer(), signal))
  } catch (error) {
    // What a body that was read rejects with; errors of the connection have other types. Fetch standard, section 5.3.
    throw error instanceof TypeError ? new UnfitBody('read_before') : error
  }
  if (bytes.length > maxBytes) throw new UnfitBody('too_large')
  if (bytes.length < declared) throw new UnfitBody('read_before')
  return bytes
}

/** The least that arrives of a body that no other code has read: HTTP/1.1 clients send an empty one without chunks. */
function minBytes(headers: Headers): number {
  const declared = headers.get('content-length')
  return declared === null ? Number(headers.has('transfer-encoding')) : Number(declared)
}

interface LimitOptions {
  readonly signal: AbortSignal
  readonly onUnfit: (problem: BodyProblem) => void
}

/** Releases the body when the signal fires, so that other code can read the rest. */
function limited(
  body: ReadableStream<Uint8Array>,
  headers: Headers,
  { signal, onUnfit }: LimitOptions,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  signal.addEventListener('abort', () => reader.releaseLock(), { once: true })
  let size = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const refuse = (problem: BodyProblem): void => {
          onUnfit(problem)
          controller.error(new UnfitBody(problem))
        }
        const { done, value } = await reader.read()
        if (done) return size < minBytes(headers) ? refuse('read_before') : controller.close()
        size += value.byteLength
        return size > maxBytes ? refuse('too_large') : controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

/** How much of a refused body is read, and for how long, in milliseconds. */
const maxDrainedBytes = 8_388_608
const drainLimitMs = 30_000

/**
 * Reads a refused body to its end without keeping it. A server that closes the connection while a browser still sends
 * takes the answer away with it, and the next request too. RFC 9112 section 9.6.
 */
export async function drained({ method, body, headers }: Request): Promise<void> {
  const declared = Number(headers.get('content-length') ?? 0)
  if (/^(GET|HEAD)$/.test(method) || !body || body.locked || declared > maxDrainedBytes) return
  const reader = body.getReader()
  let left = maxDrainedBytes
  const toEnd = async (): Promise<void> => {
    while (left > 0) {
      const { done, value } = await reader.read()
      if (done) return
      left -= value.byteLength
    }
  }
  await within(drainLimitMs, toEnd()).catch(() => {})
  reader.cancel().catch(() => {})
}

const limitsMs = {
  /** The longest silence of the API within a response. */
  api: 30_000,
  /** The longest time a browser may take for one piece. */
  browser: 120_000,
}

function silent(): AgentAuthError {
  return new AgentAuthError('timeout', 'The API sent nothing for 30 s.')
}

/** Called once. `problem` is set if the API is the reason. */
export type OnRelayed = (how: 'done' | 'broken', problem?: unknown) => void

/** Passes an answer's body on as it comes, one piece at a time; whoever stalls, on either side, ends it. */
export function relayed(body: ReadableStream<Uint8Array>, onEnd: OnRelayed): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let timer: ReturnType<typeof setTimeout> | undefined
  let state: 'open' | 'ended' = 'open'
  // Ending a response aborts the request, which fails the read in progress: only the first reason counts.
  const end = (how: 'done' | 'broken', problem?: unknown): void => {
    if (state === 'ended') return
    state = 'ended'
    clearTimeout(timer)
    onEnd(how, problem)
  }
  const fail = (controller: ReadableStreamDefaultController, problem?: unknown): void => {
    // The error of a connection may quote what it carried.
    controller.error(new Error('The answer broke off.'))
    end('broken', problem)
  }
  const wait = (controller: ReadableStreamDefaultController, who: keyof typeof limitsMs): void => {
    clearTimeout(timer)
    timer = setTimeout(() => fail(controller, who === 'api' ? silent() : undefined), limitsMs[who])
  }
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => wait(controller, 'browser'),
      async pull(controller) {
        wait(controller, 'api')
        try {
          const { done, value } = await reader.read()
          if (state === 'ended') return
          wait(controller, 'browser')
          if (value) return controller.enqueue(value)
          if (done) controller.close()
          end('done')
        } catch (error) {
          fail(controller, error)
        }
      },
      cancel: () => end('broken'),
    },
    { highWaterMark: 0 },
  )
}
