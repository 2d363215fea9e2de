// The backend in Hono: a middleware before everything else.
import { serve } from '@hono/node-server'
import { memoryStorage } from 'agent-auth'
import { Hono } from 'hono'
import { exampleBackend } from '../src/backend.js'
import { readSettings } from '../src/settings.js'

const settings = readSettings(process.env)
const backend = exampleBackend(settings, memoryStorage())

const app = new Hono()
app.use(async ({ req }, next) => (await backend.handle(req.raw)) ?? next())

app.get('/', async (context) => {
  const { status } = await backend.getSession(context.req.raw)
  return context.text(status, 200, { 'cache-control': 'no-store', vary: 'Cookie' })
})

serve({ fetch: app.fetch, port: settings.port, hostname: '127.0.0.1', overrideGlobalObjects: false }, ({ port }) => {
  process.stdout.write(`Listening on ${port}\n`)
})
