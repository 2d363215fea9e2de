import type { WorkerConnection } from './connection.ts'

type FetchArguments = Parameters<typeof fetch>

/** Sends a request by the worker. Settles as `fetch` does, and the signal of the request ends the call and the body. */
export async function sendRequest({ ask }: WorkerConnection, ...[input, init]: FetchArguments): Promise<Response> {
  const request = new Request(input, init)
  const { signal, url, method, cache, credentials, integrity, keepalive, mode, redirect, referrerPolicy } = request
  signal.throwIfAborted()
  // Firefox does not say whether a request has a body.
  const hasBody = method !== 'GET' && method !== 'HEAD' && request.body !== null
  const body = hasBody ? (typeof init?.body === 'string' ? init.body : await request.blob()) : null
  const headers = [...request.headers] as [string, string][]
  const settings = { method, headers, body, cache, credentials, integrity, keepalive, mode, redirect, referrerPolicy }
  const parts = await ask('fetch', [url, settings], signal)
  const stream = parts.body instanceof ReadableStream && parts.body.pipeThrough(new TransformStream(), { signal })
  // The status 0 is that of a redirect which was not followed.
  const response = parts.status === 0 ? Response.error() : new Response(stream || (parts.body as ArrayBuffer), parts)
  const values = ['url', 'redirected', 'type'].map((name) => [name, { value: parts[name as 'url'] }])
  return Object.defineProperties(response, Object.fromEntries(values))
}
