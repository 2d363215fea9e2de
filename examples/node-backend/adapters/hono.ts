import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { account, backend, home, login, perUser, port, started, statusOf } from './backend.js'

const app = new Hono()
app.use(async ({ req }, next) => (await backend.handle(req.raw)) ?? next())
app.get('/', async (context) => context.body(await home(context.req.raw), 200, perUser))
app.get('/account', async (context) => {
  const html = await account(context.req.raw)
  return html ? context.body(html, 200, perUser) : context.redirect(login)
})
app.onError((error, context) => context.text('The page failed. Load it again.', statusOf(error)))
serve({ fetch: app.fetch, port, hostname: '127.0.0.1', overrideGlobalObjects: false }, started)
