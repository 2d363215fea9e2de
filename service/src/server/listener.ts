import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { HttpEnvironment, NodeBindings } from '../http/environment.ts'
import { alreadySent, loseOnSocket } from '../http/lost-response.ts'
import { limits } from '../limits.ts'
import type { ConnectionLimits } from './connections.ts'
import { watchConnections } from './connections.ts'
import type { ServedApp } from './served-app.ts'
import { startingResponse } from './starting.ts'

/** Loopback only: the demo accounts of this service are for this machine (S-082). */
const hostname = '127.0.0.1'
// Leaves two seconds of the ten for closing the database (S-089, A-66).
const drainMs = 8_000

export interface ListenerLimits extends ConnectionLimits {
  headersTimeoutMs: number
  requestTimeoutMs: number
  /** How often overdue connections are looked for. */
  checkMs: number
  mostHeaderBytes: number
}

/** Slow or many connections are cut off before they hold up others (S-085). */
export const usualLimits: ListenerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  checkMs: 2_000,
  mostHeaderBytes: 16 * 1_024,
  mostConnections: limits.connections,
  mostConnectionsPerAddress: limits.connectionsPerAddress,
  mostPipelined: limits.pipelinedRequests,
  stalledAnswerMs: limits.stalledAnswerMs,
  answerMs: limits.answerMs,
}

type NodeEnvironment = NodeBindings & HttpEnvironment['Bindings']

export interface Listener {
  server: Server
  url: string
  serve(app: ServedApp): void
}

/**
 * Whose the process is. In `ours` the global Request and Response give way to the Node server's light ones, which build
 * the streams of the real ones only when somebody asks for them: an answer takes a fifth less processor time.
 */
export type ProcessOwner = 'ours' | 'theirs'

export interface ListenOptions {
  limits?: ListenerLimits
  process?: ProcessOwner
  /** Which host it is. Default: the API host. */
  origin?: 'auth' | 'base'
}

/** Takes the port first, because the port is part of the origin that the service is built with. */
export function listen(
  port: number,
  { limits: most = usualLimits, process = 'theirs', origin = 'base' }: ListenOptions = {},
): Promise<Listener> {
  let app: ServedApp | undefined
  const server = createAdaptorServer({
    fetch: (request, env) => answer(request, env as NodeEnvironment),
    overrideGlobalObjects: process === 'ours',
    serverOptions: {
      headersTimeout: most.headersTimeoutMs,
      requestTimeout: most.requestTimeoutMs,
      connectionsCheckingInterval: most.checkMs,
      maxHeaderSize: most.mostHeaderBytes,
    },
  }) as Server
  const connections = watchConnections(server, most)
  async function answer(request: Request, env: NodeEnvironment): Promise<Response> {
    if ((await connections.turn(env.outgoing)) === 'gone') return alreadySent()
    if (app === undefined) return startingResponse(origin)
    const answered = await app.fetch(request, env)
    return env.loss === undefined ? answered : loseOnSocket(answered, env.loss, env.outgoing)
  }
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, hostname, () => {
      server.off('error', reject)
      const url = `http://${hostname}:${(server.address() as AddressInfo).port}`
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

/** Lets running requests finish, but not for longer than eight seconds. */
export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), drainMs)
    server.close(() => {
      clearTimeout(deadline)
      resolve()
    })
  })
}
