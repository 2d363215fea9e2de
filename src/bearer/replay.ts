import { readAtMost } from '../internal/read-at-most.ts'
import { sleep } from '../internal/timeouts.ts'

const maxBufferedBytes = 1_048_576

interface Sending {
  readonly input: Request | string
  readonly init: RequestInit
}

/** A request that can be sent now and, with the same bytes, once more; `again` gives undefined when it cannot. */
export interface Replay extends Sending {
  again?(): Promise<Sending | undefined>
  /** Lets go of what was kept for a second sending. */
  release?(): void
  /** Cancels a body that is not sent at all, so that its source is closed. */
  discard?(): void
}

/** Prepares the second sending before the first, without touching the caller's objects. */
export function replayable(input: Request | string, init: RequestInit): Replay {
  const { body, method } = init
  if (body == null) {
    if (typeof input === 'string' || /^(GET|HEAD)$/i.test(method ?? input.method)) return twice(input, init)
    // The streams of some polyfills stand still until both copies are read.
    if (input.body && !('getReader' in input.body)) return { input, init }
    const spare = input.clone()
    if (!spare.body) return { ...twice(spare, init), input }
    return { ...buffered({ input: spare, init }, spare.body), input, discard: () => cancel(input.body) }
  }
  if (typeof body === 'object' && 'getReader' in body) {
    const [first, spare] = body.tee()
    return {
      ...buffered({ input, init }, spare as ReadableStream<Uint8Array<ArrayBuffer>>),
      init: { ...init, body: first },
      discard: () => cancel(first),
    }
  }
  const kept = snapshot(body)
  if (kept === undefined) return { input, init }
  return twice(input, kept === body ? init : { ...init, body: kept })
}

/** Not awaited: a source may take its time. */
function cancel(body: ReadableStream | null): void {
  body?.cancel().catch(() => {})
}

function twice(input: Request | string, init: RequestInit): Replay {
  return { input, init, again: async () => ({ input, init }) }
}

/** Reads along while the other branch is sent, and gives up, freeing what it read, past 1 MiB. */
function buffered({ input, init }: Sending, spare: ReadableStream<Uint8Array<ArrayBuffer>>): Replay {
  const reader = spare.getReader()
  const whole = readAtMost(reader, maxBufferedBytes).catch(() => undefined)
  return {
    input,
    init,
    async again() {
      // All of the body if it has ended by now: a refusal may come while it still runs.
      const body = await Promise.race([whole, sleep(0)])
      return body ? { input, init: { ...init, body } } : undefined
    },
    release() {
      reader.cancel().catch(() => {})
    },
  }
}

/** A copy the caller cannot change between the two sendings; undefined for what can be read only once. */
function snapshot(body: Exclude<BodyInit, ReadableStream>): BodyInit | undefined {
  if (typeof body === 'string' || body instanceof Blob) return body
  if (body instanceof ArrayBuffer) return body.slice(0)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
  if (body instanceof URLSearchParams) return copied(body, new URLSearchParams())
  return body instanceof FormData ? copied(body, new FormData()) : undefined
}

type Fields = Iterable<[string, FormDataEntryValue]>

/** Field by field: elsewhere than in browsers these classes may not take each other, or not be listed at all. */
function copied<T extends URLSearchParams | FormData>(body: T, copy: T): T | undefined {
  if (!(Symbol.iterator in body)) return undefined
  for (const [name, value] of body as Fields) copy.append(name, value as string)
  return copy
}
