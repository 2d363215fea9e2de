import type { Server } from 'node:http'
import { serve } from '@hono/node-server'
import type { Backend } from 'agent-auth/backend'
import { toNodeHandler } from 'agent-auth/backend/node'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { type AppBrowser, type BackendRig, backendRig, guard, statusAndCode } from '../support/backend-rig.ts'
import { portOf } from '../support/rig-of.ts'

// Frameworks on real ports that read or replace a request's body before the backend gets it.

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const path = '/api/items'

interface App {
  readonly port: number
  readonly server: Server
  readonly rig: BackendRig
  readonly person: AppBrowser
  readonly seen: string[]
}

async function started(make: (backend: Backend) => Server | Promise<Server>): Promise<App> {
  const seen: string[] = []
  const redirectUri = 'http://127.0.0.1:3000/auth/callback'
  const rig = await backendRig({
    backend: { redirectUri, proxy: [`POST ${path}`] },
    api: async (request) => {
      seen.push(await request.text())
      return Response.json({})
    },
  })
  closing.push(() => rig.close())
  const server = await make(rig.backend)
  const port = await portOf(server)
  const person = rig.browser()
  await person.logIn()
  return { port, server, rig, person, seen }
}

const frameworks: Record<string, (backend: Backend) => Server | Promise<Server>> = {
  'express.json()': (backend) => {
    const app = express().use(express.json())
    return app.all('/api/*rest', toNodeHandler(backend)).listen(0, '127.0.0.1')
  },
  'Fastify without a scope of its own': async (backend) => {
    const app = Fastify()
    app.all('/api/*', async (request, reply) => {
      reply.hijack()
      await toNodeHandler(backend)(request.raw, reply.raw)
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing.push(() => app.close())
    return app.server
  },
  'a middleware of Hono that reads the raw request': (backend) => {
    const app = new Hono()
    app.use(async ({ req }, next) => {
      await req.raw.text()
      await next()
    })
    app.use(async ({ req }, next) => (await backend.handle(req.raw)) ?? next())
    return serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false }) as Server
  },
}

const refusal = {
  code: 'config_invalid',
  message: expect.stringMatching(/body was read before the backend .* express\.json\(\)/),
  retryable: false,
}

async function post({ port, person }: App, init: RequestInit): Promise<Response> {
  const headers = { ...guard, cookie: person.cookieHeader(), 'content-type': 'application/json' }
  return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, ...init })
}

describe.each(Object.entries(frameworks))('before the backend %s', (_, make) => {
  test.each([
    ['short', 12, 'content-length'],
    ['long', 90_000, 'content-length'],
    ['short', 12, 'transfer-encoding'],
    ['long', 90_000, 'transfer-encoding'],
  ])(
    'a %s body of %i bytes with %s: a 500 with the reason, an event, and no request to the API',
    async (_name, length, how) => {
      const app = await started(make)
      const text = `{"name":"${'x'.repeat(length)}"}`
      const chunked = { body: new Blob([text]).stream(), duplex: 'half' } as RequestInit
      const answered = await post(app, how === 'transfer-encoding' ? chunked : { body: text })
      expect({ status: answered.status, body: await answered.json() }).toEqual({ status: 500, body: refusal })
      expect(app.rig.events.at(-1)).toEqual({
        type: 'proxy_refused',
        route: `POST ${path}`,
        status: 500,
        reason: 'body_read',
      })
      expect(app.seen).toEqual([])
    },
  )
})

describe('express.json() before the backend', () => {
  test('changes nothing for the four routes of the backend, nor for requests without a body', async () => {
    const app = await started((backend) => {
      const server = express().use(express.json())
      return server.use(toNodeHandler(backend)).listen(0, '127.0.0.1')
    })
    const send = (route: string, init: RequestInit = {}): Promise<Response> => {
      const headers = { ...guard, cookie: app.person.cookieHeader(), ...(init.headers as object) }
      return fetch(`http://127.0.0.1:${app.port}${route}`, { redirect: 'manual', ...init, headers })
    }
    expect(await (await send('/auth/session')).json()).toMatchObject({ status: 'signed-in' })
    expect((await send('/auth/callback?code=c&state=s')).status).toBe(200)
    expect((await send(path, { method: 'POST' })).status).toBe(200)
    // A request that fails an earlier check gets that error, without a wait for its body.
    const json = { 'content-type': 'application/json' }
    const refused = await send(path, { method: 'POST', headers: { ...json, 'x-agent-auth': '0' }, body: '{}' })
    expect(await statusAndCode(refused)).toEqual({ status: 403, code: 'origin_forbidden' })
    const out = await send('/auth/logout', { method: 'POST', headers: json, body: '{}' })
    expect(await out.json()).toEqual({ status: 'signed-out' })
  })
})

describe('a request that other code changed', () => {
  const rigWithApi = async (): Promise<{ rig: BackendRig; person: AppBrowser; seen: string[] }> => {
    const seen: string[] = []
    const rig = await backendRig({
      backend: { proxy: [`POST ${path}`] },
      api: async (request) => {
        seen.push(await request.text())
        return Response.json({})
      },
    })
    closing.push(() => rig.close())
    const person = rig.browser()
    await person.logIn()
    return { rig, person, seen }
  }
  const text = '{"name":"a"}'
  const sizes = [text, `{"name":"${'x'.repeat(90_000)}"}`]

  test.each(sizes)('whose body is locked by a reader: 500, and the API is not called', async (body) => {
    const { rig, person, seen } = await rigWithApi()
    for (const declared of [{ 'content-length': String(body.length) }, {}]) {
      const request = person.request(path, { method: 'POST', headers: { ...guard, ...declared }, body })
      request.body?.getReader()
      const answered = await rig.backend.handle(request)
      expect({ status: answered?.status, body: await answered?.json() }).toEqual({ status: 500, body: refusal })
    }
    expect(seen).toEqual([])
  })

  test.each(sizes)(
    'whose body was replaced by none or a part of it: 500, and the API gets no shorter one',
    async (body) => {
      const { rig, person, seen } = await rigWithApi()
      const headers = { ...guard, 'content-length': String(body.length) }
      for (const replaced of [null, '', body.slice(0, -1)]) {
        const request = person.request(path, { method: 'POST', headers, body: replaced })
        const answered = await rig.backend.handle(request)
        expect({ status: answered?.status, body: await answered?.json() }).toEqual({ status: 500, body: refusal })
      }
      expect(seen).toEqual([])
    },
  )
})
