import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { failed } from '../api/envelope.ts'
import type { HttpEnvironment, Loss, NodeBindings } from '../http/hono-environment.ts'
import { limits, serverLimits } from '../limits.ts'
import { urlHostOf } from '../loopback.ts'

const hopByHop = ['connection', 'transfer-encoding']

/** Breaks the connection of a socket. The returned response only stops the Node server from sending another one. */
async function loseOnSocket(response: Response, loss: Loss, outgoing: ServerResponse): Promise<Response> {
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
async function loseInProcess(response: Response, loss: Loss): Promise<Response> {
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

/** Responds to the requests of a listener or of an in-process fetch. */
export interface ServedApp {
  fetch(request: Request, env: HttpEnvironment['Bindings']): Response | Promise<Response>
}

/** Loads an app with the first request to it. After a failure the next request tries again. */
export function onFirstRequest(load: () => Promise<ServedApp>): ServedApp {
  let loading: Promise<ServedApp> | undefined
  return {
    async fetch(request, env) {
      loading ??= load().catch((error: unknown) => {
        loading = undefined
        throw error
      })
      return (await loading).fetch(request, env)
    },
  }
}

const problem = 'the service is starting'

/** Returns the 503 of a host whose app is not ready, in the format of that host. The process is alive. */
function startingResponse(origin: 'auth' | 'base', path: string): Response {
  if (path === '/healthz') return json(200, { status: 'alive' })
  if (path === '/readyz') return json(503, { status: 'not-ready', missing: ['start'] })
  const onAuth = { error: 'temporarily_unavailable', error_description: problem }
  return json(503, origin === 'auth' ? onAuth : failed('service_unavailable', problem))
}

function json(status: 200 | 503, body: object): Response {
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(status === 503 ? { 'Retry-After': String(serverLimits.retryAfterMs / 1_000) } : {}),
  }
  return new Response(JSON.stringify(body), { status, headers })
}

/** Returns a fetch without sockets. The origin chooses the app; an unknown one rejects as an unreachable host does. */
export function createInProcessFetch(apps: Record<string, ServedApp>, isClosed: () => boolean): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const app = apps[new URL(request.url).origin]
    if (isClosed()) throw new TypeError('fetch failed: the service is closed')
    if (app === undefined) throw new TypeError('fetch failed: the service has no such origin')
    request.signal.throwIfAborted()
    const env: HttpEnvironment['Bindings'] = {}
    return withAbort(request.signal, async () => {
      const response = await app.fetch(request, env)
      return env.loss === undefined ? response : loseInProcess(response, env.loss)
    })
  }
}

async function withAbort(signal: AbortSignal, respond: () => Promise<Response>): Promise<Response> {
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([respond(), aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** What ends slow connections, and too many, before they keep other clients waiting. */
interface ListenerLimits {
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
  closeStalled(server, own.stalledResponseMs)
  const busy = watchConnections(server, own.maxConnections)
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
 * Knows the connections without a request. If all places are taken, the one that has waited longest makes room, so that silent connections
 * of one client do not keep others out. `server.close()` sends whole responses: it closes each connection once its responses have been
 * sent. Node's own function counts a response as sent once it is written, and would cut it off. Returns the function that tells of a
 * request in progress.
 */
function watchConnections(server: Server, most: number): (outgoing: ServerResponse) => void {
  const idle = new Set<Socket>()
  let open = 0
  server.on('connection', (socket: Socket) => {
    open += 1
    idle.add(socket)
    if (open > most) {
      const [longest = socket] = idle
      idle.delete(longest)
      longest.destroy()
    }
    socket.once('close', () => {
      open -= 1
      idle.delete(socket)
    })
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
