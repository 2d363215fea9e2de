import { maxAheadBytes, plainError, type ResponseHead, type SentRequest, type ToPage } from './messages.ts'

/** A request whose response the page has not got to its end. */
export interface RunningFetch {
  abort(): void
  /** The page has read all of the body that it got. */
  drained(): void
}

interface FetchParts {
  readonly id: number
  readonly fetch: typeof fetch
  readonly send: (message: ToPage) => void
  readonly requests: Map<number, RunningFetch>
}

/** Sends a request of the page, then the response to the page: its head, and its body in chunks as far as the page reads it. */
export async function answerFetch({ id, fetch, send, requests }: FetchParts, sent: SentRequest): Promise<void> {
  const controller = new AbortController()
  const { signal } = controller
  const running = {
    abort() {
      controller.abort()
      running.drained()
    },
    drained: () => {},
  }
  requests.set(id, running)
  try {
    const response = await fetch(sent.url, { ...sent.init, signal })
    const head = headOf(response)
    send({ id, result: head })
    const reader = head.hasBody ? response.body?.getReader() : undefined
    for (let aheadBytes = 0; reader; ) {
      if (signal.aborted) return void (await reader.cancel())
      const { done, value } = await reader.read()
      send({ id, chunk: value })
      if (done) return
      aheadBytes += value.byteLength
      if (aheadBytes <= maxAheadBytes) continue
      await new Promise<void>((resolve) => {
        running.drained = resolve
      })
      aheadBytes = 0
    }
  } catch (error) {
    send({ id, error: plainError(error) })
  } finally {
    requests.delete(id)
  }
}

function headOf({ status, statusText, url, redirected, type, headers, body }: Response): ResponseHead {
  // Chromium gives these an empty body, which no Response can be made with.
  const hasBody = body !== null && ![204, 205, 304].includes(status)
  return { status, statusText, url, redirected, type, headers: [...headers], hasBody }
}
