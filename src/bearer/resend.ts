import { discardBody } from '../internal/discard-body.ts'
import { maxReplayBytes } from '../internal/limits.ts'
import { readAtMost } from '../internal/read-at-most.ts'
import { sleep } from '../internal/timeouts.ts'
import { cloneOf } from './platform-request.ts'

interface Sending {
  readonly input: Request | string
  readonly init: RequestInit
}

/**
 * A request to send now and, with the same bytes, once more. `again` is missing, or resolves to undefined, if that is not possible, and
 * then the 401 of the first sending is returned (bearer.ts).
 */
export interface Replay extends Sending {
  again?(): Promise<Sending | undefined>
  /** Frees the copy of the body. */
  release?(): void
  /** Cancels a body that is not sent, so that its source is closed. */
  discard?(): void
}

const withoutBody = ['GET', 'HEAD']

/**
 * Prepares the second request before the first is sent. `bearer.ts` decides whether to send it. Text, bytes, Blob, FormData and
 * URLSearchParams of any size can be sent twice, and a stream up to 1 MiB that has ended when the 401 comes. The caller's objects stay as
 * they are.
 */
export function replayable(input: Request | string, init: RequestInit): Replay {
  const { body, method } = init
  if (body == null) {
    if (typeof input === 'string' || withoutBody.includes(method?.toUpperCase() ?? input.method))
      return twice(input, init)
    // The streams of some polyfills stop until both copies are read.
    if (input.body && !('getReader' in input.body)) return { input, init }
    const spare = cloneOf(input)
    if (!spare.body) return { ...twice(spare, init), input }
    return { ...buffered({ input: spare, init }, spare.body), input, discard: () => discardBody(input) }
  }
  if (typeof body === 'object' && 'getReader' in body) {
    const [first, spare] = body.tee()
    return {
      ...buffered({ input, init }, spare as ReadableStream<Uint8Array<ArrayBuffer>>),
      init: { ...init, body: first },
      discard: () => discardBody({ body: first }),
    }
  }
  const kept = snapshot(body)
  if (kept === undefined) return { input, init }
  return twice(input, kept === body ? init : { ...init, body: kept })
}

function twice(input: Request | string, init: RequestInit): Replay {
  return { input, init, again: async () => ({ input, init }) }
}

/** Reads the copy while the other branch is sent. Beyond the limit (`maxReplayBytes`, 1 MiB) it stops and frees the copy. */
function buffered({ input, init }: Sending, spare: ReadableStream<Uint8Array<ArrayBuffer>>): Replay {
  const reader = spare.getReader()
  const whole = readAtMost(reader, maxReplayBytes).catch(() => undefined)
  return {
    input,
    init,
    async again() {
      // Not awaited to its end, because a 401 can come while the caller still writes the body.
      const body = await Promise.race([whole, sleep(0)])
      return body ? { input, init: { ...init, body } } : undefined
    },
    release() {
      reader.cancel().catch(() => {})
    },
  }
}

/** Returns a copy that the caller cannot change between the two requests, or undefined for a body that can be read only once. */
function snapshot(body: Exclude<BodyInit, ReadableStream>): BodyInit | undefined {
  if (typeof body === 'string' || body instanceof Blob) return body
  if (body instanceof ArrayBuffer) return body.slice(0)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
  if (body instanceof URLSearchParams) return copied(body, new URLSearchParams())
  return body instanceof FormData ? copied(body, new FormData()) : undefined
}

type Fields = Iterable<[string, FormDataEntryValue]>

/** Copies field by field, because outside of browsers these constructors may not accept each other, or have no iterator. */
function copied<T extends URLSearchParams | FormData>(body: T, copy: T): T | undefined {
  if (!(Symbol.iterator in body)) return undefined
  for (const [name, value] of body as Fields) copy.append(name, value as string)
  return copy
}
