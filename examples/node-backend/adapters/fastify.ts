import { toFastifyPlugin } from 'agent-auth/backend/node'
import Fastify from 'fastify'
import { account, backend, home, login, perUser, port, started, statusOf } from './backend.js'

const app = Fastify()
app.register(toFastifyPlugin(backend))
app.get('/', async (request, reply) => reply.headers(perUser).send(await home(request)))
app.get('/account', async (request, reply) => {
  const html = await account(request)
  return html ? reply.headers(perUser).send(html) : reply.redirect(login)
})
app.setErrorHandler((error, _, reply) => reply.code(statusOf(error)).send('The page failed. Load it again.'))
app.listen({ port, host: '127.0.0.1' }, started)
