import { deferred } from '../internal/timeouts.ts'
import { invalid } from '../internal/values.ts'

/** Requests that wait until the test releases them. */
export interface HeldRequests {
  /** Resolves as soon as this number of requests has arrived. Default: 1. */
  arrived(count?: number): Promise<void>
  /** Lets the waiting requests continue, and all later ones at once. */
  release(): void
}

/** A `fetch` whose requests wait. */
export interface HeldFetch extends HeldRequests {
  /** Sends a request after `release`. Rejects with the reason of its signal if that is aborted before. */
  readonly fetch: typeof fetch
}

/**
 * Holds the requests of a `fetch` whose path begins with `path`, so that a test can act while they are in progress. The requests
 * are held before they are sent. Default: every request. Throws `config_invalid`.
 */
export function holdRequests(send: typeof fetch, path = '/'): HeldFetch {
  const { passes, ...held } = requestGate(path)
  const heldFetch: typeof fetch = async (input, init) => {
    await passes(input, init)
    return send(input, init)
  }
  return { fetch: heldFetch, ...held }
}

/** A gate for requests: `passes` resolves when the request may be sent. */
export interface RequestGate extends HeldRequests {
  passes(input: string | URL | Request, init?: RequestInit): Promise<void>
}

export function requestGate(path: string): RequestGate {
  if (typeof path !== 'string' || !path.startsWith('/')) invalid('path must be a text that begins with /')
  const { promise: opened, resolve: open } = deferred<void>()
  const waits: { readonly count: number; readonly resolve: () => void }[] = []
  let arrivals = 0
  let isOpen = false
  return {
    async passes(input, init) {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      if (isOpen || !pathname.startsWith(path)) return
      arrivals += 1
      for (const { count, resolve } of waits) if (count <= arrivals) resolve()
      await Promise.race([opened, aborted(init?.signal ?? (input instanceof Request ? input.signal : undefined))])
    },
    arrived(count = 1) {
      const { promise, resolve } = deferred<void>()
      if (count <= arrivals) resolve()
      waits.push({ count, resolve })
      return promise
    },
    release() {
      isOpen = true
      open()
    },
  }
}

/**
 * Returns a function that resolves when `count` callers have called it. Each caller waits for the others, so that all of them continue
 * from the same point. Later calls resolve at once.
 */
export function meetingPoint(count: number): () => Promise<void> {
  const { promise, resolve } = deferred<void>()
  let arrivals = 0
  return () => {
    arrivals += 1
    if (arrivals >= count) resolve()
    return promise
  }
}

/** Rejects with the reason of the signal when that is aborted. */
function aborted(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason)
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
