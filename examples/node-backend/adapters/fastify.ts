import { toFastifyPlugin } from 'agent-auth/backend/node'
import Fastify from 'fastify'
import { backend, home, perUser, port, started, statusOf } from './backend.js'

const app = Fastify()
app.register(toFastifyPlugin(backend))
app.get('/', async (request, reply) => reply.headers(perUser).send(await home(request)))
app.setErrorHandler((error, _, reply) => reply.code(statusOf(error)).send('The page failed. Load it again.'))
app.listen({ port, host: '127.0.0.1' }, started)
