// A backend under HTTP/2, over the compatibility API of node:http2.
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { toFastifyPlugin, toNodeHandler } from 'agent-auth/backend/node'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { type AppBrowser, guard } from '../support/backend-rig.ts'
import { rigOf } from '../support/rig-of.ts'

const path = '/api/items'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

interface App {
  readonly person: AppBrowser
  /** Sends a request over HTTP/2, with pseudo-header fields of the test. */
  send(target: string, fields?: Record<string, string>, body?: string): Promise<Answer>
}

const hosts: Record<string, (backend: Parameters<typeof toNodeHandler>[0]) => Promise<number>> = {
  async 'node:http2'(backend) {
    const handle = toNodeHandler(backend)
    const server = createServer((request, response) =>
      handle(request, response, async () => {
        response.statusCode = request.url === '/' ? 200 : 404
        response.end((await backend.getSession(request)).status)
      }),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => server.close())
    return (server.address() as AddressInfo).port
  },
  async 'Fastify with http2'(backend) {
    const app = Fastify({ http2: true })
    app.register(toFastifyPlugin(backend))
    app.get('/', async (request) => (await backend.getSession(request)).status)
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing.push(() => app.close())
    return ((app as unknown as FastifyInstance).server.address() as AddressInfo).port
  },
}

async function mounted(host: keyof typeof hosts): Promise<App> {
  const rig = await rigOf({
    backend: { redirectUri: 'http://127.0.0.1:3000/auth/callback', proxy: [`POST ${path}`, `GET ${path}/:id`] },
    api: async (request) => Response.json({ got: await request.text(), names: [...request.headers.keys()] }),
  })
  const port = (await hosts[host]?.(rig.backend)) ?? 0
  const client = connect(`http://127.0.0.1:${port}`)
  closing.push(() => client.close())
  const person = rig.browser()
  await person.logIn()
  return {
    person,
    send: (target, fields = {}, body) =>
      request(client, { ':path': target, ...guard, cookie: person.cookieHeader(), ...fields }, body),
  }
}

async function request(client: ClientHttp2Session, fields: Record<string, string>, body?: string): Promise<Answer> {
  const stream = client.request(fields)
  stream.setEncoding('utf8').end(body)
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
  let text = ''
  for await (const part of stream) text += part
  return { status: Number(headers[constants.HTTP2_HEADER_STATUS]), headers, text }
}

describe.each(Object.keys(hosts))('a backend on %s', (host) => {
  test('serves its routes and the proxy, and no pseudo-header field reaches the API', async () => {
    const { send } = await mounted(host)
    expect(JSON.parse((await send('/auth/session')).text)).toMatchObject({ status: 'signed-in' })
    const login = await send('/auth/login?return_to=/x', {
      'sec-fetch-site': 'none',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    })
    expect(login.status).toBe(302)
    expect(login.headers['set-cookie']).toHaveLength(1)
    const posted = await send(path, { ':method': 'POST', 'content-type': 'application/json' }, '{"a":1}')
    expect(posted.status).toBe(200)
    const { got, names } = JSON.parse(posted.text) as { got: string; names: string[] }
    expect(got).toBe('{"a":1}')
    expect(names.filter((name) => name.startsWith(':') || name === 'host')).toEqual([])
    expect(JSON.parse((await send(`${path}/7`)).text)).toMatchObject({ got: '' })
    expect((await send(`${path}/a%2fb`)).status).toBe(400)
    expect((await send('/auth/other')).status).toBe(404)
    expect((await send('/')).text).toBe('signed-in')
  })
})
