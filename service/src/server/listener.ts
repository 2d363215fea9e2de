import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { HttpEnvironment, NodeBindings } from '../http/hono-environment.ts'
import { alreadySent, loseOnSocket } from '../http/lost-response.ts'
import { limits, serverLimits } from '../limits.ts'
import { urlHostOf } from '../loopback.ts'
import type { ConnectionLimits } from './connections.ts'
import { watchConnections } from './connections.ts'
import type { ServedApp } from './served-app.ts'
import { startingResponse } from './starting-response.ts'

export interface ListenerLimits extends ConnectionLimits {
  headersTimeoutMs: number
  requestTimeoutMs: number
  /** How often connections are checked for being overdue. */
  checkMs: number
  maxHeaderBytes: number
}

/**
 * Ends slow connections, and too many (connections.ts), before they keep other clients waiting (S-085). Headers may take
 * `headersMs`, 10 s, a whole request `requestMs`, 30 s, which is checked every `checkMs`, 2 s. Headers that are larger than
 * `headerBytes`, 16 KiB get 431.
 */
export const usualLimits: ListenerLimits = {
  headersTimeoutMs: serverLimits.headersMs,
  requestTimeoutMs: serverLimits.requestMs,
  checkMs: serverLimits.checkMs,
  maxHeaderBytes: serverLimits.headerBytes,
  maxConnections: limits.connections,
  maxConnectionsPerAddress: limits.connectionsPerAddress,
  maxPipelined: limits.pipelinedRequests,
  stalledResponseMs: limits.stalledResponseMs,
  responseMs: limits.responseMs,
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
  /** The IP address to listen on. Default: 127.0.0.1, because the demo accounts of this service are for this machine (S-082). */
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
  const connections = watchConnections(server, own)
  async function respond(request: Request, env: NodeEnvironment): Promise<Response> {
    if ((await connections.turn(env.outgoing)) === 'closed') return alreadySent()
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

/** Stops the listener. Requests in progress have a time to finish (`drainMs`, 8 s; S-089, A-66). */
export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), serverLimits.drainMs)
    server.close(() => {
      clearTimeout(deadline)
      resolve()
    })
  })
}
