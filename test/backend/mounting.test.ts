// A backend on node:http, Express and Fastify.
import { createServer, type Server } from 'node:http'
import type { Backend } from 'agent-auth/backend'
import { toFastifyPlugin, toNodeHandler } from 'agent-auth/backend/node'
import express from 'express'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { type AppBrowser, type BackendRig, guard } from '../support/backend-rig.ts'
import { portOf, rigOf } from '../support/rig-of.ts'

const path = '/api/items'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface App {
  readonly rig: BackendRig
  readonly person: AppBrowser
  /** Sends a request of the signed-in user over a socket. */
  send(path: string, init?: RequestInit): Promise<Response>
}

async function mounted(mount: (backend: Backend) => Server | Promise<Server>): Promise<App> {
  const redirectUri = 'http://127.0.0.1:3000/auth/callback'
  const rig = await rigOf({
    backend: { redirectUri, proxy: [`POST ${path}`, `GET ${path}/:id`] },
    api: async (request) => Response.json({ got: await request.text() }),
  })
  const server = await mount(rig.backend)
  const port = await portOf(server)
  const person = rig.browser()
  await person.logIn()
  const send = (target: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { ...guard, cookie: person.cookieHeader(), ...(init.headers as object) }
    return fetch(`http://127.0.0.1:${port}${target}`, { redirect: 'manual', ...init, headers })
  }
  return { rig, person, send }
}

async function fastified(app: FastifyInstance): Promise<Server> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  closing.push(() => app.close())
  return app.server
}

const hosts: Record<string, (backend: Backend) => Server | Promise<Server>> = {
  'node:http, with pages of the app': (backend) => {
    const handle = toNodeHandler(backend)
    return createServer((request, response) =>
      handle(request, response, async () => {
        const { status } = await backend.getSession(request)
        response.statusCode = request.url === '/' ? 200 : 404
        response.end(status)
      }),
    ).listen(0, '127.0.0.1')
  },
  Express: (backend) =>
    express()
      .use(toNodeHandler(backend), express.json())
      .get('/', async (request, response) => void response.send((await backend.getSession(request)).status))
      .post('/own', (request, response) => void response.json(request.body))
      .listen(0, '127.0.0.1'),
  Fastify: (backend) => {
    const app = Fastify()
    app.get('/', async (request) => (await backend.getSession(request)).status)
    app.register(toFastifyPlugin(backend))
    app.post('/own', async (request) => request.body)
    return fastified(app)
  },
}

// The first test, because other ones make handlers as well.
test('toNodeHandler leaves the classes of the platform as they are', async () => {
  const { backend } = await rigOf()
  const before = [Request, Response]
  toNodeHandler(backend)
  expect([Request, Response].map((each, at) => each === before[at])).toEqual([true, true])
})

describe.each(Object.entries(hosts))('a backend on %s', (name, mount) => {
  test('serves its routes, and leaves all other requests to the app', async () => {
    const { send } = await mounted(mount)
    expect(await (await send('/auth/session')).json()).toMatchObject({ status: 'signed-in' })
    // A login is a page load, and no fetch.
    expect((await send('/auth/login?return_to=/x')).status).toBe(403)
    expect((await send('/auth/logout')).status).toBe(405)
    expect(await (await send(path, { method: 'POST', body: '{"a":1}' })).json()).toEqual({ got: '{"a":1}' })
    expect((await send(`${path}/a%2fb`)).status).toBe(400)
    expect(await (await send('/')).text()).toBe('signed-in')
    const foreign = [await send('/auth/other'), await send(path), await send('/api/else', { method: 'POST' })]
    expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404])
    for (const answer of foreign) expect(await answer.text()).not.toContain('Not a route of this backend')
    if (name.startsWith('node')) return
    const json = { 'content-type': 'application/json' }
    expect(await (await send('/own', { method: 'POST', headers: json, body: '{"b":2}' })).json()).toEqual({ b: 2 })
  })
})

describe('toNodeHandler', () => {
  test('as the whole server responds to other paths with 404 and what it serves', async () => {
    const { send } = await mounted((backend) => createServer(toNodeHandler(backend)).listen(0, '127.0.0.1'))
    const answered = await send('/login')
    expect({ status: answered.status, body: await answered.json() }).toEqual({
      status: 404,
      body: {
        code: 'request_failed',
        message:
          'Not a route of this backend. It serves login, callback, session and logout under /auth, and the routes in proxy.',
        retryable: false,
      },
    })
  })

  test('under a mount path of Express serves the path as the browser sent it, and keeps cookies that the app set before', async () => {
    const { send } = await mounted((backend) =>
      express()
        .use((_, response, next) => next(void response.cookie('a', '1')))
        .use('/auth', toNodeHandler(backend))
        .use('/api', toNodeHandler(backend))
        .listen(0, '127.0.0.1'),
    )
    expect(await (await send('/auth/session')).json()).toMatchObject({ status: 'signed-in' })
    expect(await (await send(`${path}/7`)).json()).toEqual({ got: '' })
    expect((await send(`/api${path}/7`)).status).toBe(404)
    expect((await send('/auth/auth/session')).status).toBe(404)
    const cookies = (await send('/auth/logout', { method: 'POST' })).headers.getSetCookie()
    expect(cookies.map((line) => line.split('=')[0])).toEqual(['agent-auth-3000', 'a'])
  })

  test('takes two backends of one app, each with its own path', async () => {
    const { send } = await mounted((backend) => {
      const other = { ...backend, basePath: '/other', serves: (_: string, at: string) => at === '/other/session' }
      const handle = async (): Promise<Response> => new Response('other')
      return express()
        .use(toNodeHandler({ ...other, handle }), toNodeHandler(backend))
        .listen(0, '127.0.0.1')
    })
    expect(await (await send('/other/session')).text()).toBe('other')
    expect(await (await send('/auth/session')).json()).toMatchObject({ status: 'signed-in' })
  })
})

describe('toFastifyPlugin', () => {
  test('runs before Fastify reads bodies, whichever types it can parse, and keeps headers that hooks set before', async () => {
    const { send } = await mounted((backend) => {
      const app = Fastify()
      app.addHook('onRequest', async (_, reply) => void reply.headers({ 'x-app': 0, 'set-cookie': ['a=1', 'b=2'] }))
      app.register(toFastifyPlugin(backend), { prefix: '/ignored' })
      return fastified(app)
    })
    for (const type of ['application/json', 'text/plain', 'application/octet-stream']) {
      const answered = await send(path, { method: 'POST', headers: { 'content-type': type }, body: '{"name":' })
      expect(await answered.json()).toEqual({ got: '{"name":' })
      expect([answered.headers.get('x-app'), answered.headers.getSetCookie()]).toEqual(['0', ['a=1', 'b=2']])
    }
  })
})

test.each([toNodeHandler, toFastifyPlugin])('%o of anything but a backend says what it needs', (mount) => {
  for (const wrong of [undefined, {}])
    expect(() => mount(wrong as unknown as Backend)).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: `Configuration: ${mount.name} needs the backend that createBackend returned.`,
      }),
    )
})
