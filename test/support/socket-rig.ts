import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Backend } from 'agent-auth/backend'
import { toNodeHandler } from 'agent-auth/backend/node'
import { onTestFinished } from 'vitest'
import { type AppBrowser, type BackendRig, backendRig, guard } from './backend-rig.ts'
import { listen } from './listen.ts'

// Browser, backend and API on sockets of their own: Node's parser, the server adapter and undici between them.

export interface SocketRig {
  readonly rig: BackendRig
  readonly person: AppBrowser
  readonly port: number
  readonly app: Server
  readonly seen: IncomingMessage[]
  /** Sends a request of the user over a socket of its own. */
  call(path: string, init?: RequestInit): Promise<Response>
}

/** Lets a server listen until the test ends. Returns its port. */
export async function listening(server: Server): Promise<number> {
  const port = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise((resolve) => void server.close(() => resolve()))
  })
  return port
}

/** A backend whose proxy has the routes GET /api/items/:id and POST /api/items of an API on a socket. */
export async function socketRig(
  api: (request: IncomingMessage, response: ServerResponse) => unknown,
  mount: (backend: Backend) => Server | Promise<Server> = (backend) => createServer(toNodeHandler(backend)),
): Promise<SocketRig> {
  const seen: IncomingMessage[] = []
  const apiPort = await listening(
    createServer((request, response) => {
      seen.push(request)
      Promise.resolve(api(request, response)).catch(() => response.destroy())
    }),
  )
  const redirectUri = 'http://127.0.0.1:3000/auth/callback'
  const proxy = ['GET /api/items/:id', 'POST /api/items']
  const inner = await backendRig({ backend: { redirectUri } })
  onTestFinished(() => inner.close())
  const baseUrl = `http://127.0.0.1:${apiPort}`
  const { fetch: inProcess } = inner.options
  const backend = inner.another({
    baseUrl,
    proxy,
    fetch: (input, init) =>
      (input instanceof Request ? input.url : String(input)).startsWith(baseUrl)
        ? fetch(input, init)
        : (inProcess ?? fetch)(input, init),
  })
  const person = inner.browser(backend)
  await person.logIn()
  const app = await mount(backend)
  const port = await listening(app)
  const headers = { ...guard, cookie: person.cookieHeader() }
  return {
    rig: inner,
    person,
    port,
    app,
    seen,
    call: (path, init = {}) =>
      fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: { ...headers, ...(init.headers as object) } }),
  }
}

/** Sends bytes as they are, and returns everything that the other side sends until it closes, or in a second. */
export async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  socket.write(bytes, 'latin1')
  // The other side may wait for the rest of a malformed request.
  const timer = setTimeout(() => socket.destroy(), 1_000)
  await new Promise((resolve) => socket.once('close', resolve))
  clearTimeout(timer)
  return text
}
