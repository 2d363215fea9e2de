import { sleep } from '../deadline.ts'
import { readWithin } from '../read-within.ts'

const maxBufferedBytes = 1_048_576

type FetchInput = Parameters<typeof fetch>[0]
interface Sending {
  readonly input: FetchInput
  readonly init: RequestInit | undefined
}

/** A request that can be sent now and, with the same bytes, once more; `again` gives undefined when it cannot. */
export interface Replay extends Sending {
  again(): Promise<Sending | undefined>
  /** Lets go of what was kept for a second sending. */
  release(): void
}

/** Prepares the second sending before the first, without touching the caller's objects. */
export function replayable(input: FetchInput, init: RequestInit | undefined): Replay {
  const body = init?.body
  if (body != null) {
    if (isStream(body)) return teed(input, { ...init }, body)
    const kept = snapshot(body)
    if (kept === undefined) return { input, init, again: async () => undefined, release() {} }
    const sending = { input, init: kept === body ? init : { ...init, body: kept } }
    return { input, init: sending.init, again: async () => sending, release() {} }
  }
  if (typeof input === 'object' && 'clone' in input && !/^(GET|HEAD)$/i.test(init?.method ?? input.method))
    return cloned(input, init)
  return { input, init, again: async () => ({ input, init }), release() {} }
}

function teed(input: FetchInput, init: RequestInit, body: ReadableStream<Uint8Array<ArrayBuffer>>): Replay {
  const [first, spare] = body.tee()
  const copy = bufferWithin(spare)
  return {
    input,
    init: { ...init, body: first },
    again: async () => {
      const bytes = await copy.bytes()
      return bytes && { input, init: { ...init, body: bytes } }
    },
    release: copy.stop,
  }
}

function cloned(input: Request, init: RequestInit | undefined): Replay {
  const spare = input.clone()
  const copy = spare.body && bufferWithin(spare.body)
  return {
    input,
    init,
    again: async () => {
      if (!copy) return { input: spare, init }
      const bytes = await copy.bytes()
      return bytes && { input: spare, init: { ...init, body: bytes } }
    },
    release: () => copy?.stop(),
  }
}

interface Buffered {
  /** All of the body if it has ended by now: a refusal may come while it still runs. */
  bytes(): Promise<Blob | undefined>
  stop(): void
}

/** Reads along while the other branch is sent, and gives up, freeing what it read, past 1 MiB. */
function bufferWithin(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Buffered {
  const reader = stream.getReader()
  const whole = readWithin(reader, maxBufferedBytes).catch(() => undefined)
  return {
    bytes: () => Promise.race([whole, sleep(0).then(() => undefined)]),
    stop: () => {
      reader.cancel().catch(() => {})
    },
  }
}

function isStream(body: BodyInit): body is ReadableStream<Uint8Array<ArrayBuffer>> {
  return typeof body === 'object' && 'getReader' in body
}

/** A copy the caller cannot change between the two sendings; undefined for what can be read only once. */
function snapshot(body: BodyInit): BodyInit | undefined {
  if (typeof body === 'string' || body instanceof Blob) return body
  if (body instanceof URLSearchParams) return new URLSearchParams(body)
  if (body instanceof ArrayBuffer) return body.slice(0)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
  if (!(body instanceof FormData)) return undefined
  const copy = new FormData()
  for (const [name, value] of body) copy.append(name, value)
  return copy
}
