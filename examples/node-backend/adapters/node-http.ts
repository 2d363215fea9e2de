// The backend on plain node:http, by the listener of @hono/node-server.
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { memoryStorage } from 'agent-auth'
import { exampleBackend } from '../src/backend.js'
import { readSettings } from '../src/settings.js'

const settings = readSettings(process.env)
const backend = exampleBackend(settings, memoryStorage())

async function serve(request: Request): Promise<Response> {
  return (await backend.handle(request)) ?? page(request)
}

async function page(request: Request): Promise<Response> {
  if (new URL(request.url).pathname !== '/') return new Response('Not found', { status: 404 })
  const { status } = await backend.getSession(request)
  return new Response(status, { headers: { 'cache-control': 'no-store', vary: 'Cookie' } })
}

const server = createServer(getRequestListener(serve, { overrideGlobalObjects: false }))
server.listen(settings.port, '127.0.0.1', () => process.stdout.write(`Listening on ${settings.port}\n`))
