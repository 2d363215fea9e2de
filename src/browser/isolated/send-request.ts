import { deferred } from '../../internal/timeouts.ts'
import { maxAheadBytes, type ResponseHead, restoredError, type SentRequest } from '../worker/messages.ts'
import type { WorkerConnection } from './connection.ts'

type FetchArguments = Parameters<typeof fetch>

/** Sends a request by the worker. Settles as `fetch` does, and the signal of the request ends the call and the body. */
export async function sendRequest(worker: WorkerConnection, ...[input, init]: FetchArguments): Promise<Response> {
  const request = new Request(input, init)
  const { signal } = request
  const sent = await sentRequest(request, init)
  signal.throwIfAborted()
  const { promise, resolve, reject } = deferred<ResponseHead>()
  let receivedBytes = 0
  let source: ReadableStreamDefaultController<Uint8Array> | undefined
  const call = worker.open('fetch', sent, (answer) => {
    if ('error' in answer) fail(restoredError(answer.error))
    else if ('result' in answer) resolve(answer.result as ResponseHead)
    else if (answer.chunk) {
      receivedBytes += answer.chunk.byteLength
      source?.enqueue(answer.chunk)
    } else {
      end()
      source?.close()
    }
  })
  const end = (): void => {
    call.end()
    signal.removeEventListener('abort', abort)
  }
  const fail = (reason: unknown): void => {
    end()
    reject(reason)
    source?.error(reason)
  }
  const abort = (): void => {
    call.send('abort')
    fail(signal.reason)
  }
  signal.addEventListener('abort', abort)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      source = controller
    },
    // The worker waits if the page has not read as much.
    pull() {
      if (receivedBytes <= maxAheadBytes) return
      receivedBytes = 0
      call.send('drained')
    },
    cancel() {
      call.send('abort')
      end()
    },
  })
  const head = await promise
  if (!head.hasBody) end()
  return responseOf(head, head.hasBody ? body : null)
}

/** Returns what a message can hold of a request. */
async function sentRequest(request: Request, init: FetchArguments[1]): Promise<SentRequest> {
  const { url, method, cache, credentials, integrity, keepalive, mode, redirect, referrerPolicy } = request
  const headers = [...request.headers] as [string, string][]
  // Firefox does not say whether a request has a body.
  const hasBody = method !== 'GET' && method !== 'HEAD' && request.body !== null
  const body = hasBody ? (typeof init?.body === 'string' ? init.body : await request.blob()) : null
  return {
    url,
    init: { method, headers, body, cache, credentials, integrity, keepalive, mode, redirect, referrerPolicy },
  }
}

function responseOf({ headers, url, redirected, type, ...head }: ResponseHead, body: ReadableStream | null): Response {
  const { status, statusText } = head
  // That of a redirect which was not followed.
  const response = status === 0 ? Response.error() : new Response(body, { status, statusText, headers })
  return Object.defineProperties(response, {
    url: { value: url },
    redirected: { value: redirected },
    type: { value: type },
  })
}
