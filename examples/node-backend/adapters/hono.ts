import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { backend, perUser, port, started, statusOf } from './backend.js'

const app = new Hono()
app.use(async ({ req }, next) => (await backend.handle(req.raw)) ?? next())
app.get('/', async (context) => context.body(await statusOf(context.req.raw), 200, perUser))
serve({ fetch: app.fetch, port, hostname: '127.0.0.1', overrideGlobalObjects: false }, started)
