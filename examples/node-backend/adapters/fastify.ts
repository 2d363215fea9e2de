// The backend in Fastify 5: the listener of @hono/node-server in a scope of its own, in which Fastify reads no bodies.
import { getRequestListener } from '@hono/node-server'
import { memoryStorage } from 'agent-auth'
import Fastify from 'fastify'
import { exampleBackend } from '../src/backend.js'
import { readSettings } from '../src/settings.js'

const settings = readSettings(process.env)
const backend = exampleBackend(settings, memoryStorage())

const serveBackend = getRequestListener(
  async (request) => (await backend.handle(request)) ?? new Response('Not found', { status: 404 }),
  { overrideGlobalObjects: false },
)

const app = Fastify()

app.register((scope, _options, done) => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
  for (const path of ['/auth/*', '/api/*'])
    scope.all(path, async (request, reply) => {
      reply.hijack()
      await serveBackend(request.raw, reply.raw)
    })
  done()
})

app.get('/', async (request, reply) => {
  const headers = new Headers({ cookie: request.headers.cookie ?? '' })
  const { status } = await backend.getSession({ headers })
  return reply.headers({ 'cache-control': 'no-store', vary: 'Cookie' }).type('text/plain').send(status)
})

await app.listen({ port: settings.port, host: '127.0.0.1' })
process.stdout.write(`Listening on ${settings.port}\n`)
