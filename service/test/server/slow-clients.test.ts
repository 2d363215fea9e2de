// @module-tag slow

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Hono } from 'hono'
import { afterEach, expect, test } from 'vitest'
import { runs, soakShare } from '../../../test/support/runs.ts'
import type { HttpEnvironment } from '../../src/http/hono-environment.ts'
import type { Service } from '../../src/index.ts'
import type { Listener } from '../../src/server/listener.ts'
import { listen, stop, usualLimits } from '../../src/server/listener.ts'
import { agentSearch } from '../support/login.ts'
import { exchangeBytes, open, statusOf } from '../support/raw-socket.ts'
import { startService } from '../support/start.ts'

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface SlowClient {
  socket: Socket
  /** What was answered until the connection was closed. */
  answer: Promise<string>
  sent: number
}

/** Sends the bytes one by one, `gapMs` apart, until it is cut off. */
function trickle(origin: string, bytes: string, gapMs: number): SlowClient {
  const socket = open(origin)
  const client: SlowClient = { socket, sent: 0, answer: Promise.resolve('') }
  client.answer = new Promise((resolve) => {
    let answer = ''
    socket.on('data', (data) => {
      answer += data
    })
    socket.on('error', () => {})
    const timer = setInterval(() => {
      socket.write(bytes[client.sent] ?? 'x')
      client.sent += 1
    }, gapMs)
    socket.on('close', () => {
      clearInterval(timer)
      resolve(answer)
    })
  })
  cleanups.push(() => socket.destroy())
  return client
}

function connected({ socket }: Pick<SlowClient, 'socket'>): Promise<unknown> {
  return new Promise((resolve) => {
    if (socket.connecting) socket.once('connect', resolve).once('close', resolve)
    else resolve(undefined)
  })
}

async function echo(limits = usualLimits): Promise<Listener & { readonly began: number }> {
  const listener = await listen(0, { limits })
  let began = 0
  const app = new Hono<HttpEnvironment>()
  app.use(async (_c, next) => {
    began += 1
    return next()
  })
  app.post('/', async (c) => c.text(await c.req.text()))
  app.get('/', (c) => c.text('here'))
  app.onError((_error, c) => c.text('gone', 500))
  listener.serve(app)
  cleanups.push(async () => {
    listener.server.closeAllConnections()
    await stop(listener.server)
  })
  return {
    ...listener,
    get began() {
      return began
    },
  }
}

async function callOnce(service: Service, token: string): Promise<number> {
  const startMs = performance.now()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(service.baseUrl + agentSearch, { method: 'POST', headers, body: '{"limit":5}' })
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
  return performance.now() - startMs
}

/** A soak has 500 and 200 of them. */
const [slowClients, calls] = soakShare() > 0 ? [500, 200] : [200, 100]

test(
  `${slowClients} slow clients delay no other client: of ${calls} calls beside them 99 in 100 are quick`,
  runs(1, 20).options,
  async () => {
    const service = await startService({ dev: 'on' })
    cleanups.push(() => service.close())
    const token = await service.dev.mintSessionToken('ada@demo.example')
    // A body is waited for only from a client that may send one.
    const head = [
      `POST ${agentSearch} HTTP/1.1`,
      `Host: ${new URL(service.baseUrl).host}`,
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      'Content-Length: 9999',
    ]
    const slow: SlowClient[] = []
    let state: 'open' | 'closed' = 'open'
    const begin = (index: number): void => {
      // Half of them never end their headers, the others never end their body.
      const client = trickle(service.baseUrl, index % 2 === 0 ? 'GET / HTTP/1.1\r\nX-Slow: ' : '', 1_000)
      if (index % 2 === 1) client.socket.write(`${head.join('\r\n')}\r\n\r\n{"`)
      slow[index] = client
      // One that is cut off when its time is up comes again.
      void client.answer.then(() => state === 'open' && begin(index))
    }
    for (let index = 0; index < slowClients; index += 1) begin(index)
    cleanups.push(() => {
      state = 'closed'
    })
    await Promise.all(slow.map(connected))
    const besideThem = await p99Ms(service, token)
    await expect.poll(() => slow.filter(({ socket }) => !socket.destroyed).length).toBe(slowClients)
    state = 'closed'
    for (const { socket } of slow) socket.destroy()
    // Where calls take as long with no other call beside them, it is the machine that is slow.
    const alone = await p99Ms(service, token)
    // A call that waits for a slow client waits until that one's 30 s are over.
    expect(besideThem).toBeLessThan(Math.max(soakShare() > 0 ? 500 : 20_000, 2 * alone))
  },
)

async function p99Ms(service: Service, token: string): Promise<number> {
  const times: number[] = []
  for (let call = 0; call < calls; call += 1) times.push(await callOnce(service, token))
  times.sort((left, right) => left - right)
  return times[Math.floor(times.length * 0.99) - 1] ?? Number.POSITIVE_INFINITY
}

const quick = { ...usualLimits, headersTimeoutMs: 300, requestTimeoutMs: 700, checkMs: 50 }

test('who does not end the headers in time is cut off, however busily it sends', async () => {
  const { url } = await echo({ ...quick, requestTimeoutMs: 20_000 })
  const startMs = performance.now()
  const slow = trickle(url, `GET / HTTP/1.1\r\nHost: ${new URL(url).host}\r\nX-Slow: `, 20)
  const answer = await slow.answer
  const tookMs = performance.now() - startMs
  expect(statusOf(answer)).toBe(408)
  expect(tookMs).toBeGreaterThan(250)
  // The whole request may take 20 s.
  expect(tookMs).toBeLessThan(15_000)
})

test('who does not end the body in time is cut off', async () => {
  const { url } = await echo(quick)
  const startMs = performance.now()
  const slow = trickle(url, '', 20)
  slow.socket.write(`POST / HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Length: 100000\r\n\r\n`)
  await slow.answer
  const tookMs = performance.now() - startMs
  expect(tookMs).toBeGreaterThan(600)
  expect(tookMs).toBeLessThan(15_000)
  expect(slow.sent).toBeGreaterThan(3)
})

test('connections whose body is incomplete give way, oldest first, so that they never close the host for others', async () => {
  // The time for a body ends none of them, however long this takes here.
  const rig = await echo({ ...usualLimits, requestTimeoutMs: 600_000, maxConnectionsPerAddress: 20 })
  const head = `POST / HTTP/1.1\r\nHost: ${new URL(rig.url).host}\r\nContent-Length: 100000\r\n\r\n`
  const kept = trickle(rig.url, '', 60_000)
  kept.socket.write(`GET / HTTP/1.1\r\nHost: ${new URL(rig.url).host}\r\n\r\n`)
  await once(kept.socket, 'data')
  const slow: SlowClient[] = []
  for (let index = 0; index < 19; index += 1) {
    const client = trickle(rig.url, '', 60_000)
    client.socket.write(head)
    slow.push(client)
    await expect.poll(() => rig.began).toBe(index + 2)
  }
  for (let call = 0; call < 3; call += 1) {
    const answer = await exchangeBytes(
      rig.url,
      ['POST / HTTP/1.1', `Host: ${new URL(rig.url).host}`, 'Content-Length: 4'],
      'here',
    )
    expect(statusOf(answer)).toBe(200)
  }
  // The idle connection gave way first, and each call leaves its own place to the next.
  const isGone = (): boolean[] => [kept, ...slow].map(({ socket }) => socket.destroyed)
  await expect.poll(isGone).toEqual([true, ...slow.map(() => false)])
  const more = Array.from({ length: 3 }, () => trickle(rig.url, '', 60_000))
  for (const client of more) client.socket.write(head)
  await expect.poll(() => isGone().slice(0, 4)).toEqual([true, true, true, false])
  expect(more.map(({ socket }) => socket.destroyed)).toEqual([false, false, false])
})

test('with 1,000 incomplete bodies at the token endpoint, requests of others are answered', async () => {
  const service = await startService()
  cleanups.push(() => service.close())
  const { host } = new URL(service.authUrl)
  const head = ['POST /auth/v1/token?grant_type=authorization_code HTTP/1.1', `Host: ${host}`]
  const type = 'Content-Type: application/x-www-form-urlencoded'
  const slow = Array.from({ length: 1_000 }, () => {
    const client = open(service.authUrl)
    client.on('error', () => {}).resume()
    client.write([...head, type, 'Content-Length: 1000', '', 'code='].join('\r\n'))
    cleanups.push(() => client.destroy())
    return client
  })
  await Promise.all(slow.map((socket) => connected({ socket })))
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => exchangeBytes(service.authUrl, [...head, type, 'Content-Length: 6'], 'code=a')),
  )
  expect(answers.map(statusOf)).toEqual(answers.map(() => 401))
})

test('the limits of a started service are those of the requirement, and its listener has them', async () => {
  expect(usualLimits).toEqual({
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    checkMs: 2_000,
    maxHeaderBytes: 16 * 1_024,
    maxConnections: 2_000,
    maxConnectionsPerAddress: 1_000,
    maxPipelined: 16,
    stalledResponseMs: 20_000,
    responseMs: 120_000,
  })
  const { server } = await echo()
  expect({
    headersTimeout: server.headersTimeout,
    requestTimeout: server.requestTimeout,
    timeout: server.timeout,
  }).toEqual({ headersTimeout: 10_000, requestTimeout: 30_000, timeout: 20_000 })
})

test.each([
  [0, 1_000],
  [1, 1_050],
])('with %i trusted proxies one address may have %i of 1,050 connections', async (trustedProxies, most) => {
  // Only their number closes connections, however long it takes here to open them all.
  const { headersTimeoutMs, requestTimeoutMs } = usualLimits
  cleanups.push(() => Object.assign(usualLimits, { headersTimeoutMs, requestTimeoutMs }))
  Object.assign(usualLimits, { headersTimeoutMs: 600_000, requestTimeoutMs: 600_000 })
  const service = await startService({ trustedProxies })
  cleanups.push(() => service.close())
  const sockets: Socket[] = []
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy()
  })
  // More at once than the system queues would connect after seconds.
  for (let batch = 0; batch < 7; batch++) {
    const some = Array.from({ length: 150 }, () =>
      open(service.authUrl)
        .on('error', () => {})
        .resume(),
    )
    sockets.push(...some)
    await Promise.all(some.map((socket) => connected({ socket })))
  }
  const request = ['GET /nothing HTTP/1.1', `Host: ${new URL(service.authUrl).host}`]
  expect(statusOf(await exchangeBytes(service.authUrl, request))).toBe(404)
  const left = (): number => sockets.filter(({ destroyed }) => !destroyed).length
  // Sockets are closed beside the response, which took the place of one more.
  await expect.poll(left).toBeLessThanOrEqual(most)
  expect(left()).toBeGreaterThanOrEqual(most - 1)
})

test('a started service cuts off unended headers after 10 s', async () => {
  const service = await startService()
  cleanups.push(() => service.close())
  const startMs = performance.now()
  const slow = [service.authUrl, service.baseUrl].map((url) => trickle(url, 'GET / HTTP/1.1\r\nX-Slow: ', 500))
  const answers = await Promise.all(slow.map(({ answer }) => answer))
  const tookMs = performance.now() - startMs
  expect(answers.map(statusOf)).toEqual([408, 408])
  expect(tookMs).toBeGreaterThan(9_500)
  // The whole request may take 30 s.
  expect(tookMs).toBeLessThan(28_000)
})

test.each(['auth', 'base'] as const)('before the service is ready, its %s port answers 503 in JSON', async (origin) => {
  const { server, url } = await listen(0, { origin })
  cleanups.push(() => stop(server))
  const answer = await fetch(`${url}/anything`)
  expect({ status: answer.status, retryAfter: answer.headers.get('retry-after') }).toEqual({
    status: 503,
    retryAfter: '1',
  })
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const kept = {
    cacheControl: answer.headers.get('cache-control'),
    contentTypeOptions: answer.headers.get('x-content-type-options'),
  }
  expect(kept).toEqual({ cacheControl: 'no-store', contentTypeOptions: 'nosniff' })
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
