import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Hono } from 'hono'
import { afterEach, expect, test } from 'vitest'
import type { HttpEnvironment } from '../../src/http/hono-environment.ts'
import { type Listener, listen, stop, usualLimits } from '../../src/server/listener.ts'
import { signal } from '../support/held-up.ts'
import { agentSearch } from '../support/login.ts'
import { exchangeBytes, open, statusOf } from '../support/raw-socket.ts'
import { startService } from '../support/start.ts'

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const bigBytes = 16 * 1_024 * 1_024
const quick = { ...usualLimits, headersTimeoutMs: 300, requestTimeoutMs: 700, stalledResponseMs: 300, checkMs: 50 }

interface Rig extends Listener {
  /** Paths of the requests that a handler has begun to answer. */
  begun: string[]
  /** Lets the handlers of `/held` and `/held-big` answer. */
  release(): void
}

async function serve(limits = quick): Promise<Rig> {
  const listener = await listen(0, { limits })
  const begun: string[] = []
  const { given: held, give: release } = signal()
  const app = new Hono<HttpEnvironment>()
  app.use(async (c, next) => {
    begun.push(c.req.path)
    if (c.req.path.startsWith('/held')) await held
    return next()
  })
  app.get('/big', (c) => c.body('x'.repeat(bigBytes)))
  app.get('/held-big', (c) => c.body('x'.repeat(bigBytes)))
  app.get('/held', (c) => c.text('held'))
  app.get('/small', (c) => c.text('here'))
  app.post('/', async (c) => c.text(await c.req.text()))
  app.onError((_error, c) => c.text('gone', 500))
  listener.serve(app)
  cleanups.push(async () => {
    release()
    listener.server.closeAllConnections()
    await stop(listener.server)
  })
  return { ...listener, begun, release }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

/** A client that takes nothing until it is told to. */
function send(url: string, bytes: string): Socket {
  const socket = open(url)
  socket.pause()
  socket.on('error', () => {})
  socket.write(bytes)
  cleanups.push(() => socket.destroy())
  return socket
}

/** Sends the bytes one by one until it is cut off. Returns what was answered until then. */
function trickle(origin: string, begin: string, gapMs: number): Promise<string> {
  const socket = send(origin, begin)
  const timer = setInterval(() => socket.write('x'), gapMs)
  let answer = ''
  socket.on('data', (data) => {
    answer += data
  })
  return once(socket.resume(), 'close').then(() => {
    clearInterval(timer)
    return answer
  })
}

function allClosed({ server }: Listener): Promise<void> {
  const count = () => new Promise((resolve) => server.getConnections((_, open) => resolve(open)))
  return expect.poll(count, { interval: 10 }).toBe(0)
}

async function tookMs(run: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await run()
  return performance.now() - startMs
}

test('a client that does not end its headers or its body in time is cut off, however busily it sends', async () => {
  const { url } = await serve()
  expect(statusOf(await trickle(url, 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ', 20))).toBe(408)
  const body = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n'
  expect(await tookMs(() => trickle(url, body, 20))).toBeGreaterThan(600)
})

test('more connections than a host may have are closed, and those that it has are answered', async () => {
  const rig = await serve({ ...usualLimits, maxConnections: 2 })
  const busy = [send(rig.url, get('/held')), send(rig.url, get('/held'))]
  await expect.poll(() => rig.begun.length).toBe(2)
  await once(send(rig.url, get('/small')).resume(), 'close')
  rig.release()
  const answers = await Promise.all(busy.map((socket) => once(socket.resume(), 'data')))
  expect(answers.map(([bytes]) => statusOf(String(bytes)))).toEqual([200, 200])
  expect(rig.begun).toEqual(['/held', '/held'])
})

test('silent connections that take all places do not keep a request out', async () => {
  const rig = await serve({ ...usualLimits, maxConnections: 20 })
  const silent = Array.from({ length: 20 }, () => send(rig.url, ''))
  await Promise.all(silent.map((socket) => once(socket, 'connect')))
  const answers = Array.from({ length: 10 }, () => exchangeBytes(rig.url, ['GET /small HTTP/1.1', 'Host: x']))
  expect((await Promise.all(answers)).map(statusOf)).toEqual(Array.from({ length: 10 }, () => 200))
})

test('a response of which the client takes nothing is given up, and one that takes long to prepare is not', async () => {
  const rig = await serve({ ...usualLimits, stalledResponseMs: 300 })
  send(rig.url, get('/held-big'))
  const patient = exchangeBytes(rig.url, ['GET /held HTTP/1.1', 'Host: x'])
  await expect.poll(() => rig.begun.length).toBe(2)
  await pause(900)
  rig.release()
  expect(statusOf(await patient)).toBe(200)
  await allClosed(rig)
})

test('a response that is being sent is sent to its end while the service stops', async () => {
  const rig = await serve(usualLimits)
  const socket = send(rig.url, get('/big'))
  await expect.poll(() => rig.begun.length).toBe(1)
  await pause(100)
  const stopped = stop(rig.server)
  let taken = 0
  socket.on('data', (bytes) => {
    taken += bytes.length
  })
  await Promise.all([stopped, once(socket.resume(), 'close')])
  expect(taken).toBeGreaterThan(bigBytes)
})

test('connections that only wait for another request do not hold up the stop, and a request in progress is answered', async () => {
  const rig = await serve(usualLimits)
  const kept = send(rig.url, get('/small'))
  const keptClosed = once(kept, 'close')
  await once(kept.resume(), 'data')
  const running = send(rig.url, get('/held'))
  await expect.poll(() => rig.begun.length).toBe(2)
  const stopping = tookMs(() => stop(rig.server))
  await keptClosed
  rig.release()
  expect(statusOf(String(await once(running.resume(), 'data')))).toBe(200)
  // Connections that hold it up are ended after 8 s.
  expect(await stopping).toBeLessThan(7_000)
})

test('a response that no client takes does not hold up the stop for longer than 8 s', async () => {
  const rig = await serve({ ...usualLimits, stalledResponseMs: 60_000 })
  send(rig.url, get('/big'))
  await expect.poll(() => rig.begun.length).toBe(1)
  await pause(100)
  const stopping = await tookMs(() => stop(rig.server))
  expect(stopping).toBeGreaterThan(7_500)
  expect(stopping).toBeLessThan(20_000)
})

test.each(['auth', 'base'] as const)('before the service is ready, its %s port answers 503 in JSON', async (origin) => {
  const { server, url } = await listen(0, { origin })
  cleanups.push(() => stop(server))
  const answer = await fetch(`${url}/anything`)
  const { status, headers } = answer
  const names = ['retry-after', 'content-type', 'cache-control', 'x-content-type-options']
  expect([status, ...names.map((name) => headers.get(name))]).toEqual([
    503,
    '1',
    'application/json; charset=utf-8',
    'no-store',
    'nosniff',
  ])
  const starting = 'the service is starting'
  expect(await answer.json()).toEqual(
    origin === 'auth'
      ? { error: 'temporarily_unavailable', error_description: starting }
      : { success: false, data: {}, error_type: 'service_unavailable', error_message: starting },
  )
})

test.each([
  ['its declared length', 'Content-Length: 100', '{"limit": 1'],
  ['the last chunk', 'Transfer-Encoding: chunked', '5\r\n{"lim\r\n'],
])('a client that breaks off before %s is journalled as that', async (_, length, body) => {
  const service = await startService()
  cleanups.push(() => service.close())
  const token = await service.dev.mintSessionToken('ada@demo.example')
  const requests = [
    [service.baseUrl, agentSearch, 'application/json'],
    [service.authUrl, '/auth/v1/token?grant_type=refresh_token', 'application/json'],
    [service.authUrl, '/auth/v1/sign-in', 'application/x-www-form-urlencoded'],
  ] as const
  for (const [origin, path, type] of requests) {
    const own = [`Host: ${new URL(origin).host}`, `Content-Type: ${type}`, `Authorization: Bearer ${token}`]
    const socket = open(origin)
    socket.on('error', () => {})
    socket.write([`POST ${path} HTTP/1.1`, ...own, length, 'Expect: 100-continue', '', ''].join('\r\n'))
    // Now the request is there, and its body is waited for.
    await once(socket, 'data')
    socket.end(body)
    const seen = () => service.dev.journal().filter((entry) => entry.kind === 'request')
    await expect
      .poll(() => seen().map(({ path, status }) => ({ path, status })))
      .toContainEqual({ path: path.split('?')[0], status: 499 })
  }
})
