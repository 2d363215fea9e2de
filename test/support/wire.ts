import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { listen } from './listen.ts'
import { takeRequest, type WireRequest } from './wire-request.ts'
import type { Step } from './wire-steps.ts'

export type { WireRequest } from './wire-request.ts'
export * from './wire-steps.ts'

/** Steps in order, one a request, the last one repeated; or a function that chooses the step for each request. */
export type Script = Step | readonly Step[] | ((request: WireRequest, index: number) => Step)

export interface Wire {
  readonly url: string
  readonly port: number
  /** Whole requests in the order in which they were complete. */
  readonly requests: readonly WireRequest[]
  readonly connections: { readonly total: number; readonly open: number }
  /** Destroys every socket; a step that still runs finds its socket closed. */
  close(): Promise<void>
}

/** An HTTP/1.1 server on a loopback port that misbehaves at the level of bytes, as told by a script. */
export async function startWire(script: Script): Promise<Wire> {
  const requests: WireRequest[] = []
  const sockets = new Set<Socket>()
  let total = 0
  let turn = 0

  const planned = (): Step | undefined => {
    if (typeof script === 'function') return undefined
    return 'run' in script ? script : (script[turn] ?? script.at(-1))
  }
  const play = async (socket: Socket, step: Step | undefined, request?: WireRequest): Promise<void> => {
    turn += 1
    if (!step) throw new Error('The script of this wire has no steps.')
    await step.run(socket, request)
  }

  const server = createServer({ noDelay: true }, (socket) => {
    total += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // Resets are this server's business; the client's view of them is what is tested.
    socket.on('error', () => {})
    const first = planned()
    if (first?.on === 'connection') {
      void play(socket, first)
      return
    }
    let received: Buffer = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      for (let taken = takeRequest(received); taken; taken = takeRequest(received)) {
        received = taken.rest
        requests.push(taken.request)
        const step = typeof script === 'function' ? script(taken.request, turn) : planned()
        void play(socket, step, taken.request)
      }
    })
  })

  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: {
      get total() {
        return total
      },
      get open() {
        return sockets.size
      },
    },
    async close() {
      const closed = [...sockets].map((socket) => once(socket.destroy(), 'close'))
      await Promise.all([...closed, new Promise((resolve) => server.close(resolve))])
    },
  }
}
