import { memoryStorage } from 'agent-auth'
import { type Backend, type BackendOptions, createBackend } from 'agent-auth/backend'
import { toFastifyPlugin } from 'agent-auth/backend/node'
import { signedInCookie, testService } from 'agent-auth/testing'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, expect, test } from 'vitest'

/** Your app, with the options of its backend as a parameter. */
function createApp(options: BackendOptions): { app: FastifyInstance; backend: Backend } {
  const backend = createBackend(options)
  const app = Fastify()
  app.register(toFastifyPlugin(backend))
  app.get('/account', async (request, reply) => {
    const session = await backend.getSession(request)
    return session.signedIn ? 'Your account' : reply.redirect('/auth/login?return_to=/account')
  })
  return { app, backend }
}

const service = await testService({ after: afterAll, client: 'confidential' })
const secrets = ['a-secret-for-tests-of-32-characters']
const { app, backend } = createApp({ ...service.options, sessions: memoryStorage(), secrets })

test('a signed-in user sees the account, and a visitor goes to the login', async () => {
  const cookie = await signedInCookie(backend.handle, { service })
  expect((await app.inject({ url: '/account', headers: { cookie } })).body).toBe('Your account')
  expect((await app.inject({ url: '/account' })).headers.location).toBe('/auth/login?return_to=/account')
})
