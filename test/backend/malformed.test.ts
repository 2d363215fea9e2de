import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { createAdaptorServer } from '@hono/node-server'
import type { Backend } from 'agent-auth/backend'
import { toFastifyPlugin, toNodeHandler } from 'agent-auth/backend/node'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import { raw, socketRig } from '../support/socket-rig.ts'

const notFound = (): Response => new Response('Not found', { status: 404 })
const overWeb = (fetch: (request: Request) => Response | Promise<Response>): Server =>
  createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server

const mounts: [name: string, mount: (backend: Backend) => Server | Promise<Server>][] = [
  ['a fetch handler', (backend) => overWeb(async (request) => (await backend.handle(request)) ?? notFound())],
  ['node:http', (backend) => createServer(toNodeHandler(backend))],
  ['Express', (backend) => createServer(express().use(toNodeHandler(backend)))],
  [
    'Hono',
    (backend) => overWeb(new Hono().use(async ({ req }, next) => (await backend.handle(req.raw)) ?? next()).fetch),
  ],
  [
    'Fastify',
    async (backend) => {
      const app = Fastify()
      onTestFinished(() => app.close())
      await app.register(toFastifyPlugin(backend)).ready()
      return app.server
    },
  ],
  ['a server that makes a Request of its own, as Next.js does', (backend) => createServer(byHand(backend))],
]

function byHand(backend: Backend) {
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    try {
      const body = /^(GET|HEAD)$/.test(incoming.method ?? '') ? null : (Readable.toWeb(incoming) as ReadableStream)
      const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      )
      const init = { method: incoming.method ?? '', headers, body, duplex: 'half' }
      const answered = (await backend.handle(new Request(`http://127.0.0.1${incoming.url}`, init))) ?? notFound()
      outgoing.writeHead(answered.status, Object.fromEntries(answered.headers))
      outgoing.end(Buffer.from(await answered.arrayBuffer()))
    } catch {
      outgoing.writeHead(400).end()
    }
  }
}

const targets = [
  'http://evil.example/api/items/7',
  'https://evil.example/admin',
  '//evil.example/api/items/7',
  '/api/items/../../admin',
  '/api/items/%2e%2e/admin',
  '/api/items/..%2fadmin',
  '/api/items/..%5cadmin',
  '/api/items/%2e%2e%2f%2e%2e%2fadmin',
  '/api/items/7%00',
  '/api/items/7;/../../../admin',
  '/\\evil.example/api/items/7',
  '/api/items/\\..\\..\\admin',
  '/api/items/%',
  '/api/items/%ff',
  '/api/items/%c0%af',
  '/api/items/%EF%BC%8Fadmin',
  '/api/items/\xe9',
  '/api/items/7\tadmin',
  '/api/items/7#/admin',
  '/api/items/7?a=%&b=%ff',
  `/api/items/${'a'.repeat(20_000)}`,
  '/auth/callback?code=%&state=%ff',
  `/auth/callback?code=c&state=${'s'.repeat(43)}`,
  '/auth/login?return_to=%',
  '/auth/login?return_to=//evil.example',
  '/auth/session/../../admin',
  '*',
  'evil.example:443',
  'api/items/7',
  'http://',
  'http://[::1/api/items/7',
  '',
]
const startLines = [
  ...targets.map((target) => `GET ${target} HTTP/1.1`),
  ...['get', 'TRACE', 'CONNECT', 'OPTIONS', 'PRI', 'FOO', 'G\0T', 'GET,POST', ''].map(
    (method) => `${method} /api/items/7 HTTP/1.1`,
  ),
  ...['HTTP/0.9', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/1.1 x', 'ICY'].map((version) => `GET /api/items/7 ${version}`),
]
/** Header lines of a GET of a listed route. */
const headers = [
  'host: evil.example',
  'cookie: =;;\x80=\xff; __proto__=1',
  'x-agent-auth: 2',
  'sec-fetch-site: cross-site',
  'origin: http://[',
  'x a: 1',
  'x-a\0: 1',
  ': 1',
  'x-a',
  'connection: close, cookie, x-agent-auth, authorization',
  'upgrade: websocket\r\nconnection: upgrade',
  'expect: nothing',
  'authorization: Bearer x\r\nauthorization: Bearer y',
  'proxy-authorization: Basic eA==\r\nte: trailers\r\nx-http-method-override: DELETE',
  `x-a: ${'a'.repeat(20_000)}`,
  'x-a: 1\r\n'.repeat(3_000).trimEnd(),
]
/** Header lines and body of a POST of a listed route. `SMUGGLED` stands for another request. */
const bodies: [lines: string, body: string][] = [
  ['content-length: 2\r\ncontent-length: 30', '{}SMUGGLED'],
  ['content-length: 6\r\ntransfer-encoding: chunked', '0\r\n\r\nSMUGGLED'],
  ['transfer-encoding: xchunked\r\ncontent-length: 6', '0\r\n\r\nSMUGGLED'],
  ['transfer-encoding: chunked, chunked', '0\r\n\r\nSMUGGLED'],
  ['transfer-encoding: chunked\r\ntransfer-encoding: identity', '0\r\n\r\nSMUGGLED'],
  ['transfer-encoding:\x0bchunked', '0\r\n\r\nSMUGGLED'],
  ['x-a: 1\r\n content-length: 0\r\ncontent-length: 2', '{}SMUGGLED'],
  ['content-length : 2', '{}SMUGGLED'],
  ['x-a: 1\rtransfer-encoding: chunked\r\ncontent-length: 2', '{}SMUGGLED'],
  ['content-length: -1', '{}SMUGGLED'],
  ['content-length: +2', '{}SMUGGLED'],
  ['content-length: 0x2', '{}SMUGGLED'],
  ['content-length: 2, 2', '{}SMUGGLED'],
  ['content-length: 99999999999999999999', '{}'],
  ['content-length: 9', '{}'],
  ['transfer-encoding: chunked', 'zz\r\n{}\r\n0\r\n\r\nSMUGGLED'],
  ['transfer-encoding: chunked', 'ffffffffffffffffff\r\n{}\r\n0\r\n\r\nSMUGGLED'],
  ['transfer-encoding: chunked', '2;\n\r\n{}\r\n0\r\n\r\nSMUGGLED'],
  ['transfer-encoding: chunked', '2\r\n{}SMUGGLED'],
]

test.each(mounts)(
  'of all malformed requests to %s, none gets a 5xx, a second response or another route',
  async (_, mount) => {
    const { port, person, seen } = await socketRig(
      (request, response) => request.resume().on('end', () => response.end()),
      mount,
    )
    const own = `x-agent-auth: 1\r\nsec-fetch-site: same-origin\r\ncookie: ${person.cookieHeader()}\r\n`
    const smuggled = `GET /api/items/smuggled HTTP/1.1\r\nhost: app\r\n${own}\r\n`
    const post = `POST /api/items HTTP/1.1\r\nhost: app\r\nconnection: close\r\n${own}`
    const requests = [
      `GET /api/items/7 HTTP/1.1\r\n${own}\r\n`,
      ...startLines.map((line) => `${line}\r\nhost: app\r\nconnection: close\r\n${own}\r\n`),
      ...headers.map((lines) => `GET /api/items/7 HTTP/1.1\r\nhost: app\r\n${own}${lines}\r\n\r\n`),
      ...bodies.map(([lines, body]) => `${post}${lines}\r\n\r\n${body.replace('SMUGGLED', smuggled)}`),
    ]
    expect(await raw(port, `${post}content-length: 2\r\n\r\n{}`)).toMatch(/^HTTP\/1\.1 200 /)
    const answered = await Promise.all(
      requests.map(async (request) => ({
        request: request.slice(0, 60),
        statuses: [...(await raw(port, request)).matchAll(/^HTTP\/1\.1 (?!100)(\d+)/gm)].map(([, status]) =>
          Number(status),
        ),
      })),
    )
    const wrong = answered.filter(({ statuses }) => statuses.length > 1 || statuses.some((status) => status >= 500))
    expect(wrong).toEqual([])
    for (const { method, url, rawHeaders } of seen) {
      expect(`${method} ${url}`).toMatch(/^(GET \/api\/items\/[^/]+|POST \/api\/items)$/)
      const names = rawHeaders.filter((__, at) => at % 2 === 0).map((name) => name.toLowerCase())
      expect(new Set(names).size).toBe(names.length)
      expect(names.join(' ')).not.toMatch(/cookie|x-agent-auth|proxy|upgrade|expect|override|\bte\b/)
      expect(rawHeaders.join(' ')).not.toMatch(/smuggled|evil|Bearer [xy]$/)
    }
    expect(answered.flatMap(({ statuses }) => statuses)).toEqual(expect.arrayContaining([200, 400, 404]))
  },
)
