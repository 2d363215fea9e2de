// The helper of another framework.
import { createServer } from 'node:http'
import type { Backend } from 'agent-auth/backend'
import { toFastifyPlugin, toNodeHandler } from 'agent-auth/backend/node'
import express, { type Request as ExpressRequest, type Response as ExpressResponse, type NextFunction } from 'express'
import Fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { afterEach, expect, test } from 'vitest'
import { listen } from '../support/listen.ts'
import { rigOf } from '../support/rig-of.ts'
import { failure } from '../support/token-flow.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const useFastifyPlugin = {
  code: 'config_invalid',
  message:
    'Configuration: toNodeHandler is for node:http, Express and Connect. In Fastify use app.register(toFastifyPlugin(backend)), in Hono backend.handle.',
}

const useNodeHandler = {
  code: 'config_invalid',
  message:
    'Configuration: toFastifyPlugin is for app.register of Fastify. With node:http, Express and Connect use toNodeHandler(backend), in Hono backend.handle.',
}

/** A framework takes any function in plain JavaScript. */
const untyped = (helper: unknown): never => helper as never

const fastify = (): FastifyInstance => {
  const app = Fastify()
  closing.push(() => app.close())
  return app
}

/** Returns the error that Fastify gives to its error handler for a request. */
async function errorOf(app: FastifyInstance): Promise<unknown> {
  let seen: unknown
  app.setErrorHandler((error, _, reply) => {
    seen = error
    void reply.code(500).send()
  })
  expect((await app.inject('/auth/session')).statusCode).toBe(500)
  return seen
}

test.each<[where: string, mount: (app: FastifyInstance, backend: Backend) => unknown]>([
  ['a route', (app, backend) => app.all('/auth/*', untyped(toNodeHandler(backend)))],
  ['a hook', (app, backend) => app.addHook('onRequest', untyped(toNodeHandler(backend)))],
])('toNodeHandler as %s of Fastify: config_invalid names toFastifyPlugin', async (_, mount) => {
  const app = fastify()
  mount(app, (await rigOf()).backend)
  expect(await errorOf(app)).toMatchObject(useFastifyPlugin)
})

test('toNodeHandler as a plugin of Fastify: ready() rejects with config_invalid', async () => {
  const app = fastify()
  app.register(untyped(toNodeHandler((await rigOf()).backend)))
  expect(await failure(async () => app.ready())).toMatchObject(useFastifyPlugin)
})

test('toNodeHandler as a middleware of Hono: config_invalid names backend.handle', async () => {
  const seen: unknown[] = []
  const app = new Hono().use(untyped(toNodeHandler((await rigOf()).backend))).onError((error, context) => {
    seen.push(error)
    return context.body(null, 500)
  })
  expect((await app.request('/auth/session')).status).toBe(500)
  expect(seen).toMatchObject([useFastifyPlugin])
})

test('toFastifyPlugin as a hook of Fastify: config_invalid names app.register', async () => {
  const app = fastify()
  app.addHook('onRequest', untyped(toFastifyPlugin((await rigOf()).backend)))
  expect(await errorOf(app)).toMatchObject(useNodeHandler)
})

test('toFastifyPlugin as the listener of createServer: the response names toNodeHandler, and the process goes on', async () => {
  const server = createServer(untyped(toFastifyPlugin((await rigOf()).backend)))
  const url = `http://127.0.0.1:${await listen(server)}/auth/session`
  closing.push(() => server.close())
  for (const answered of [await fetch(url), await fetch(url)])
    expect({ status: answered.status, body: await answered.json() }).toMatchObject({
      status: 500,
      body: useNodeHandler,
    })
})

test('toFastifyPlugin as a middleware of Express: config_invalid names toNodeHandler', async () => {
  const { backend } = await rigOf()
  const seen: unknown[] = []
  const app = express()
    .use(untyped(toFastifyPlugin(backend)))
    .use((error: unknown, _: ExpressRequest, response: ExpressResponse, _next: NextFunction) => {
      seen.push(error)
      response.status(500).end()
    })
  const server = createServer(app)
  const port = await listen(server)
  closing.push(() => server.close())
  const answered = await fetch(`http://127.0.0.1:${port}/auth/session`)
  expect({ status: answered.status, seen }).toMatchObject({ status: 500, seen: [useNodeHandler] })
})

test('toFastifyPlugin as a middleware of Connect or Express 4, which await nothing: config_invalid reaches next', async () => {
  const plugin: (...given: unknown[]) => Promise<void> = untyped(toFastifyPlugin((await rigOf()).backend))
  const seen: unknown[] = []
  const rejected: unknown[] = []
  const server = createServer((request, response) => {
    const next = (error: unknown): void => void seen.push(error)
    plugin(request, response, next)
      .catch((error) => rejected.push(error))
      .finally(() => response.end())
  })
  const port = await listen(server)
  closing.push(() => server.close())
  await fetch(`http://127.0.0.1:${port}/auth/session`)
  expect({ seen, rejected }).toMatchObject({ seen: [useNodeHandler], rejected: [] })
})
