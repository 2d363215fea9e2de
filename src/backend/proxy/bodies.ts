import { abortable, within } from '../../deadline.ts'

const maxBytes = 1_048_576
/** Up to here a body is read before it is sent, so that a 401 can be answered by sending it again. */
const maxHeldBytes = 65_536

/** Thrown into the stream of a body that is larger than 1 MiB. */
export class BodyTooLarge extends Error {}

/** The body to send on. Rejects with `BodyTooLarge` when that is known beforehand; a stream fails with it later. */
export async function requestBody(
  request: Request,
  signal: AbortSignal,
  onTooLarge: () => void,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined> {
  if (/^(GET|HEAD)$/.test(request.method)) return undefined
  const declared = Number(request.headers.get('content-length') ?? Number.POSITIVE_INFINITY)
  if (declared > maxBytes && Number.isFinite(declared)) throw new BodyTooLarge()
  // Only here: a bridge makes the stream when it is looked at, and reading all at once needs none.
  if (declared > maxHeldBytes) return request.body ? limited(request.body, signal, onTooLarge) : undefined
  const bytes = new Uint8Array(await abortable(request.arrayBuffer(), signal))
  if (bytes.length > maxBytes) throw new BodyTooLarge()
  return bytes
}

/** Lets go of the body when the signal fires, so that somebody else can read the rest. */
function limited(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onTooLarge: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  signal.addEventListener('abort', () => reader.releaseLock(), { once: true })
  let size = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        size += value.byteLength
        if (size <= maxBytes) return controller.enqueue(value)
        onTooLarge()
        controller.error(new BodyTooLarge())
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

/** The longest silence of the API within an answer. */
const silenceMs = 30_000
/** The longest time a browser may take for one piece. */
const stallMs = 120_000

/** Passes an answer's body on as it comes, one piece at a time; whoever stalls, on either side, ends it. */
export function relayed(
  body: ReadableStream<Uint8Array>,
  onEnd: (how: 'done' | 'broken') => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let timer: ReturnType<typeof setTimeout> | undefined
  const end = (how: 'done' | 'broken'): void => {
    clearTimeout(timer)
    onEnd(how)
  }
  const wait = (controller: ReadableStreamDefaultController, limitMs: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => fail(controller), limitMs)
  }
  const fail = (controller: ReadableStreamDefaultController): void => {
    // The error of a connection may quote what it carried.
    controller.error(new Error('The answer broke off.'))
    end('broken')
  }
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => wait(controller, stallMs),
      async pull(controller) {
        wait(controller, silenceMs)
        try {
          const { done, value } = await reader.read()
          wait(controller, stallMs)
          if (value) return controller.enqueue(value)
          if (done) controller.close()
          end('done')
        } catch {
          fail(controller)
        }
      },
      cancel: () => end('broken'),
    },
    { highWaterMark: 0 },
  )
}
