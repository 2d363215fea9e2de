import type { ServerResponse } from 'node:http'

/** The part of a response that does not arrive. */
export type Loss = 'everything' | 'second-half'

const hopByHop = ['connection', 'transfer-encoding']

/** Breaks the connection of a socket. The returned response only stops the Node server from sending another one. */
export async function loseOnSocket(response: Response, loss: Loss, outgoing: ServerResponse): Promise<Response> {
  if (loss === 'everything') outgoing.socket?.resetAndDestroy()
  else {
    const bytes = new Uint8Array(await response.arrayBuffer())
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !hopByHop.includes(name)))
    outgoing.writeHead(response.status, { ...headers, 'content-length': bytes.byteLength })
    outgoing.write(halfOf(bytes), () => outgoing.destroy())
  }
  return alreadySent()
}

/** Returns a response that the Node server does not send. */
function alreadySent(): Response {
  // The clone is a real Response. The Node server's own, which may be the global, does not read this header.
  return new Response(null, { headers: { 'x-hono-already-sent': 'true' } }).clone()
}

/** Shows the same loss as `fetch` does: a rejection, or a body that ends with an error. */
export async function loseInProcess(response: Response, loss: Loss): Promise<Response> {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  if (loss === 'everything') throw new TypeError('fetch failed', { cause })
  const bytes = new Uint8Array(await response.arrayBuffer())
  let sent = false
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent) controller.error(new TypeError('terminated', { cause }))
      else controller.enqueue(halfOf(bytes))
      sent = true
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}

function halfOf(bytes: Uint8Array): Uint8Array {
  return bytes.slice(0, Math.floor(bytes.byteLength / 2))
}
