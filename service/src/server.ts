import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { Hono } from 'hono'
import type { Assembly } from './app.ts'
import { assemble } from './app.ts'
import type { ServiceOptions } from './config.ts'
import type { HttpEnvironment, NodeBindings } from './http/environment.ts'
import { loseOnSocket } from './http/lost-answer.ts'
import type { Service } from './service.ts'

/** Loopback only: the demo accounts of this service are for this machine (S-082). */
const hostname = '127.0.0.1'
// Leaves two seconds of the ten for closing the database (S-089).
const drainMs = 8_000

type NodeEnvironment = NodeBindings & HttpEnvironment['Bindings']

interface Listener {
  server: Server
  url: string
  serve(app: Hono<HttpEnvironment>): void
}

/** The whole service on two loopback ports. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const auth = await listen(options.authPort ?? 0)
  const base = await listen(options.basePort ?? 0).catch(async (error: unknown) => {
    await stop(auth.server)
    throw error
  })
  const servers = [auth.server, base.server]
  const urls = { authUrl: options.authUrl ?? auth.url, baseUrl: options.baseUrl ?? base.url }
  const { service, authApp, apiApp }: Assembly = await assemble({ ...options, ...urls }).catch(
    async (error: unknown) => {
      await Promise.all(servers.map(stop))
      throw error
    },
  )
  auth.serve(authApp)
  base.serve(apiApp)
  const closeStore = service.close
  let closing: Promise<void> | undefined
  service.close = () => {
    closing ??= Promise.all(servers.map(stop)).then(() => closeStore())
    return closing
  }
  return service
}

/** Takes the port first, because the port is part of the origin that the service is built with. */
function listen(port: number): Promise<Listener> {
  let app: Hono<HttpEnvironment> | undefined
  const server = createAdaptorServer({
    fetch: (request, env) => (app === undefined ? starting() : answer(app, request, env as NodeEnvironment)),
    overrideGlobalObjects: false,
    serverOptions: {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      connectionsCheckingInterval: 2_000,
      maxHeaderSize: 16 * 1_024,
    },
  }) as Server
  server.maxConnections = 2_000
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

async function answer(app: Hono<HttpEnvironment>, request: Request, env: NodeEnvironment): Promise<Response> {
  const answered = await app.fetch(request, env)
  return env.loss === undefined ? answered : loseOnSocket(answered, env.loss, env.outgoing)
}

function starting(): Response {
  return new Response('starting', { status: 503, headers: { 'Retry-After': '1' } })
}

/** Lets running requests finish, but not for longer than eight seconds. */
function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), drainMs)
    server.close(() => {
      clearTimeout(deadline)
      resolve()
    })
    server.closeIdleConnections()
  })
}
