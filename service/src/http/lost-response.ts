import type { ServerResponse } from 'node:http'

/** How much of an answer does not arrive. */
export type Loss = 'everything' | 'second-half'

const hopByHop = ['connection', 'transfer-encoding']

/** Breaks the connection of a real socket. The result only tells the Node server that the answer is taken care of. */
export async function loseOnSocket(answer: Response, loss: Loss, outgoing: ServerResponse): Promise<Response> {
  if (loss === 'everything') outgoing.socket?.resetAndDestroy()
  else {
    const bytes = new Uint8Array(await answer.arrayBuffer())
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => !hopByHop.includes(name)))
    outgoing.writeHead(answer.status, { ...headers, 'content-length': bytes.byteLength })
    outgoing.write(halfOf(bytes), () => outgoing.destroy())
  }
  return takenCareOf()
}

/** Tells the Node server that it has nothing to send. */
export function takenCareOf(): Response {
  // A clone is a real Response also where the Node server's light one, which does not know this header, is the global.
  return new Response(null, { headers: { 'x-hono-already-sent': 'true' } }).clone()
}

/** The same as `fetch` shows it: a rejection, or a body that ends in an error. */
export async function loseInProcess(answer: Response, loss: Loss): Promise<Response> {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  if (loss === 'everything') throw new TypeError('fetch failed', { cause })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  let sent = false
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent) controller.error(new TypeError('terminated', { cause }))
      else controller.enqueue(halfOf(bytes))
      sent = true
    },
  })
  return new Response(body, { status: answer.status, headers: answer.headers })
}

function halfOf(bytes: Uint8Array): Uint8Array {
  return bytes.slice(0, Math.floor(bytes.byteLength / 2))
}
