import { toFastifyPlugin } from 'agent-auth/backend/node'
import Fastify from 'fastify'
import { backend, perUser, port, started, statusOf } from './backend.js'

const app = Fastify()
app.register(toFastifyPlugin(backend))
app.get('/', async (request, reply) => reply.headers(perUser).send(await statusOf(request)))
app.listen({ port, host: '127.0.0.1' }, started)
