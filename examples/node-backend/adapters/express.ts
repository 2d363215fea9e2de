// The backend in Express 5: the listener of @hono/node-server, before anything that reads bodies such as express.json().
import { getRequestListener } from '@hono/node-server'
import { memoryStorage } from 'agent-auth'
import express from 'express'
import { exampleBackend } from '../src/backend.js'
import { readSettings } from '../src/settings.js'

const settings = readSettings(process.env)
const backend = exampleBackend(settings, memoryStorage())

const serveBackend = getRequestListener(
  async (request) => (await backend.handle(request)) ?? new Response('Not found', { status: 404 }),
  { overrideGlobalObjects: false },
)

const app = express()
// `app.all` keeps the path as the browser sent it; `app.use` removes its beginning.
app.all(['/auth/*rest', '/api/*rest'], serveBackend)
app.use(express.json())

app.get('/', async (request, response) => {
  const headers = new Headers({ cookie: request.headers.cookie ?? '' })
  const { status } = await backend.getSession({ headers })
  response.set({ 'cache-control': 'no-store', vary: 'Cookie' }).type('text').send(status)
})

app.listen(settings.port, '127.0.0.1', (error) => {
  if (error) throw error
  process.stdout.write(`Listening on ${settings.port}\n`)
})
