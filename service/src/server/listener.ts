import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { HttpEnvironment, NodeBindings } from '../http/hono-environment.ts'
import { loseOnSocket } from '../http/lost-response.ts'
import { limits, serverLimits } from '../limits.ts'
import { urlHostOf } from '../loopback.ts'
import type { ServedApp } from './served-app.ts'
import { startingResponse } from './starting-response.ts'

/** What ends slow connections, and too many, before they keep other clients waiting. */
export interface ListenerLimits {
  headersTimeoutMs: number
  requestTimeoutMs: number
  /** How often connections are checked for being overdue. */
  checkMs: number
  maxHeaderBytes: number
  maxConnections: number
  stalledResponseMs: number
}

export const usualLimits: ListenerLimits = {
  headersTimeoutMs: serverLimits.headersMs,
  requestTimeoutMs: serverLimits.requestMs,
  checkMs: serverLimits.checkMs,
  maxHeaderBytes: serverLimits.headerBytes,
  maxConnections: limits.connections,
  stalledResponseMs: limits.stalledResponseMs,
}

type NodeEnvironment = NodeBindings & HttpEnvironment['Bindings']

export interface Listener {
  server: Server
  url: string
  serve(app: ServedApp): void
}

/**
 * Whether the process runs other code as well. If it runs the service alone, the Node server replaces the global Request
 * and Response by its own, which make a stream only when one is read: a response takes a fifth less processor time.
 */
export type ProcessUse = 'alone' | 'shared'

export interface ListenOptions {
  /** The IP address to listen on. Default: 127.0.0.1, because the demo accounts of this service are for this machine. */
  host?: string | undefined
  limits?: ListenerLimits
  process?: ProcessUse
  /** Which host it is. Default: the API. */
  origin?: 'auth' | 'base'
}

/** Takes the port first, because the port is part of the origin that the service is built with. */
export function listen(
  port: number,
  { host = '127.0.0.1', limits: own = usualLimits, process = 'shared', origin = 'base' }: ListenOptions = {},
): Promise<Listener> {
  let app: ServedApp | undefined
  const server = createAdaptorServer({
    fetch: (request, env) => respond(request, env as NodeEnvironment),
    overrideGlobalObjects: process === 'alone',
    serverOptions: {
      headersTimeout: own.headersTimeoutMs,
      requestTimeout: own.requestTimeoutMs,
      connectionsCheckingInterval: own.checkMs,
      maxHeaderSize: own.maxHeaderBytes,
    },
  }) as Server
  server.maxConnections = own.maxConnections
  closeStalled(server, own.stalledResponseMs)
  const busy = closeGently(server)
  async function respond(request: Request, env: NodeEnvironment): Promise<Response> {
    if (hostsOf(env) > 1) return new Response(null, { status: 400, headers: { Connection: 'close' } })
    busy(env.outgoing)
    if (app === undefined) return startingResponse(origin, new URL(request.url).pathname)
    const response = await app.fetch(request, env)
    return env.loss === undefined ? response : loseOnSocket(response, env.loss, env.outgoing)
  }
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const url = `http://${urlHostOf(host)}:${(server.address() as AddressInfo).port}`
      resolve({
        server,
        url,
        serve: (served) => {
          app = served
        },
      })
    })
  })
}

/** Counts the Host headers, of which a request has one (RFC 9112 section 3.2). Node reads the first one only. */
function hostsOf({ incoming: { rawHeaders } }: NodeEnvironment): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length
}

/** Closes a connection whose client receives nothing of a response for a time. Each byte starts Node's timer again. */
function closeStalled(server: Server, stalledResponseMs: number): void {
  server.timeout = stalledResponseMs
  server.on('timeout', (socket: Socket) => {
    // The timer also fires while a response is prepared or a body is awaited.
    if (socket.writableLength > 0) socket.destroy()
  })
}

/**
 * Lets `server.close()` send whole responses: it closes each connection once its responses have been sent. Node's own function counts a
 * response as sent once it is written, and would cut it off. Returns the function that tells of a request in progress.
 */
function closeGently(server: Server): (outgoing: ServerResponse) => void {
  const idle = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    idle.add(socket)
    socket.once('close', () => idle.delete(socket))
  })
  server.closeIdleConnections = () => {
    for (const socket of idle) socket.destroySoon()
  }
  return (outgoing) => {
    const { socket } = outgoing.req
    idle.delete(socket)
    outgoing.once('close', () => {
      if (!server.listening) socket.destroySoon()
      else if (!socket.destroyed) idle.add(socket)
    })
  }
}

/** Stops the listener. Requests in progress have a time to finish. */
export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), serverLimits.drainMs)
    server.close(() => {
      clearTimeout(deadline)
      resolve()
    })
  })
}
