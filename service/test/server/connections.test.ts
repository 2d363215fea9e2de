// @module-tag slow

// Also tests service/src/server/listener.ts.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Hono } from 'hono'
import { afterEach, expect, test } from 'vitest'
import type { HttpEnvironment } from '../../src/http/hono-environment.ts'
import type { Listener, ListenerLimits } from '../../src/server/listener.ts'
import { listen, stop, usualLimits } from '../../src/server/listener.ts'
import { exchangeBytes, open, statusOf } from '../support/raw-socket.ts'

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const bigBytes = 16 * 1_024 * 1_024
const quick = { ...usualLimits, stalledResponseMs: 300, responseMs: 20_000, checkMs: 50 }

interface Rig extends Listener {
  /** Paths of the requests that a handler has begun to answer. */
  begun: string[]
  /** Lets the handlers of `/held` answer. */
  release(): void
}

async function serve(limits: ListenerLimits = quick): Promise<Rig> {
  const listener = await listen(0, { limits })
  const begun: string[] = []
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const app = new Hono<HttpEnvironment>()
  app.use(async (c, next) => {
    begun.push(c.req.path)
    return next()
  })
  app.get('/big/:number?', (c) => c.body('x'.repeat(bigBytes)))
  app.get('/small/:number?', (c) => c.text('here'))
  app.get('/held/:number?', async (c) => {
    await held
    return c.text('held')
  })
  app.get('/held-big', async (c) => {
    await held
    return c.body('x'.repeat(bigBytes))
  })
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
function send(url: string, bytes: string, localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress })
  socket.pause()
  socket.on('error', () => {})
  socket.write(bytes)
  cleanups.push(() => socket.destroy())
  return socket
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(isSo, { interval: 10 }).toBe(true)
}

function closedBy({ server }: Listener): Promise<void> {
  return until(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count === 0))))
}

/** How long it takes until the server has no connection left. */
async function tookToCloseMs(listener: Listener): Promise<number> {
  const startMs = performance.now()
  await closedBy(listener)
  return performance.now() - startMs
}

/** Takes some of an answer every 50 ms; resolves to what arrived in all. */
async function sip(socket: Socket, bytesAtOnce: number): Promise<number> {
  let taken = 0
  socket.on('readable', () => {})
  while (!socket.destroyed && !socket.readableEnded) {
    taken += (socket.read(Math.min(bytesAtOnce, Math.max(1, socket.readableLength)))?.length ?? 0) as number
    await pause(5)
  }
  return taken
}

test('an answer of which the client takes nothing is given up', async () => {
  const rig = await serve()
  for (let client = 0; client < 4; client += 1) send(rig.url, get('/big'))
  await until(() => rig.begun.length === 4)
  // Where only the time for a whole answer ends it, that takes 20 s.
  expect(await tookToCloseMs(rig)).toBeLessThan(15_000)
})

test('an answer that is taken slowly is sent to its end, unless it takes longer than an answer may', async () => {
  // More than a loaded machine makes this process wait.
  const stalledResponseMs = 1_500
  const whole = await serve({ ...quick, stalledResponseMs, responseMs: 120_000 })
  const startMs = performance.now()
  const taken = await sip(send(whole.url, `GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`), 48 * 1_024)
  expect(taken).toBeGreaterThan(bigBytes)
  expect(performance.now() - startMs).toBeGreaterThan(stalledResponseMs)
  const short = await serve({ ...quick, responseMs: 500 })
  const socket = send(short.url, get('/big'))
  const cut = await sip(socket, 32 * 1_024)
  expect(cut).toBeLessThan(bigBytes)
})

test('an answer that takes long to prepare is not given up, but is once nothing of it is taken', async () => {
  const rig = await serve()
  const patient = exchangeBytes(rig.url, ['GET /held HTTP/1.1', 'Host: x'])
  const stalled = send(rig.url, get('/held-big'))
  await until(() => rig.begun.length === 2)
  await pause(900)
  rig.release()
  expect(statusOf(await patient)).toBe(200)
  expect(await tookToCloseMs(rig)).toBeLessThan(15_000)
  stalled.destroy()
})

/** Sends a request over another connection. When it is answered, the server has begun what it does at once with earlier requests. */
async function laterRequest({ url }: Rig): Promise<void> {
  expect(statusOf(await exchangeBytes(url, ['GET /small/later HTTP/1.1', 'Host: x']))).toBe(200)
}

test('requests of one connection are answered one after the other, so that few answers wait in memory', async () => {
  const rig = await serve({ ...quick, stalledResponseMs: 20_000 })
  const paths = Array.from({ length: 10 }, (_, index) => `/big/${index}`)
  const socket = send(rig.url, paths.map(get).join(''))
  await until(() => rig.begun.length > 0)
  await laterRequest(rig)
  expect(rig.begun).toEqual(['/big/0', '/small/later'])
  socket.destroy()
  await closedBy(rig)
  await laterRequest(rig)
  expect(rig.begun).toEqual(['/big/0', '/small/later', '/small/later'])
  const text = await exchangeBytes(rig.url, [
    'GET /small/1 HTTP/1.1',
    'Host: x',
    '',
    'GET /small/2 HTTP/1.1',
    'Host: x',
  ])
  expect([...text.matchAll(/HTTP\/1\.1 200 /g)]).toHaveLength(2)
})

test('a connection that sends more requests than may wait is closed', async () => {
  const rig = await serve()
  const socket = send(rig.url, Array.from({ length: 40 }, (_, index) => get(`/held/${index}`)).join(''))
  await once(socket.resume(), 'close')
  rig.release()
  await laterRequest(rig)
  expect(rig.begun.filter((path) => path.startsWith('/held')).length).toBeLessThanOrEqual(1)
})

const few = {
  ...quick,
  // Only the number of connections closes one, however long they are silent here.
  headersTimeoutMs: 600_000,
  requestTimeoutMs: 600_000,
  stalledResponseMs: 20_000,
  maxConnections: 8,
  maxConnectionsPerAddress: 4,
}

test('silent connections of one address give way to new ones of it, and leave room for other addresses', async () => {
  const rig = await serve(few)
  const silent = Array.from({ length: 6 }, () => send(rig.url, 'GET / HTTP/1.1\r\nX-', '127.0.0.2').resume())
  const isClosed = (): boolean[] => silent.map(({ destroyed }) => destroyed)
  await expect.poll(isClosed).toEqual([true, true, false, false, false, false])
  expect(statusOf(await exchangeBytes(rig.url, ['GET /small HTTP/1.1', 'Host: x']))).toBe(200)
  const same = send(rig.url, get('/small'), '127.0.0.2')
  expect(statusOf(String(await once(same.resume(), 'data')))).toBe(200)
  await expect.poll(isClosed).toEqual([true, true, true, false, false, false])
})

test('when all connections are taken the oldest silent one gives way, of any address', async () => {
  const rig = await serve({ ...few, maxConnectionsPerAddress: 3 })
  const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4'].flatMap((address) => [address, address, address])
  const silent: Socket[] = []
  for (const address of addresses.slice(0, 8)) {
    const socket = send(rig.url, 'GET / HTTP/1.1\r\nX-', address).resume()
    await once(socket, 'connect')
    silent.push(socket)
  }
  expect(statusOf(await exchangeBytes(rig.url, ['GET /small HTTP/1.1', 'Host: x']))).toBe(200)
  await expect.poll(() => silent.map(({ destroyed }) => destroyed).indexOf(true)).toBe(0)
  expect(silent.filter(({ destroyed }) => destroyed)).toHaveLength(1)
})

test('connections that are being answered never give way: one more of their address is closed', async () => {
  const rig = await serve(few)
  const busy = Array.from({ length: 4 }, (_, index) => send(rig.url, get(`/held/${index}`)))
  await until(() => rig.begun.length === 4)
  const beyond = open(rig.url).on('error', () => {})
  await once(beyond, 'close')
  rig.release()
  const answers = await Promise.all(busy.map((socket) => once(socket.resume(), 'data')))
  expect(answers.map(([bytes]) => statusOf(String(bytes)))).toEqual([200, 200, 200, 200])
})

test('an answer that is being sent is sent to its end while the service stops', async () => {
  const rig = await serve({ ...quick, stalledResponseMs: 20_000 })
  const socket = send(rig.url, get('/big'))
  await until(() => rig.begun.length === 1)
  await pause(100)
  const stopped = stop(rig.server)
  // Without pauses, because what is not taken after 8 s is given up.
  let taken = 0
  socket.on('data', (bytes) => {
    taken += bytes.length
  })
  await Promise.all([stopped, once(socket.resume(), 'close')])
  expect(taken).toBeGreaterThan(bigBytes)
})

test('connections that only wait for another request do not hold up the stop', async () => {
  const rig = await serve()
  const kept = send(rig.url, get('/small'))
  // On a busy machine its idle time can be over before the stop.
  const keptClosed = once(kept, 'close')
  await once(kept.resume(), 'data')
  const running = send(rig.url, get('/held'))
  await until(() => rig.begun.length === 2)
  const startMs = performance.now()
  const stopped = stop(rig.server)
  await keptClosed
  rig.release()
  expect(statusOf(String(await once(running.resume(), 'data')))).toBe(200)
  await stopped
  // Connections that hold it up are ended after 8 s.
  expect(performance.now() - startMs).toBeLessThan(7_000)
})

test('an answer that no client takes does not hold up the stop for longer than 8 s', async () => {
  const rig = await serve({ ...quick, stalledResponseMs: 60_000 })
  send(rig.url, get('/big'))
  await until(() => rig.begun.length === 1)
  await pause(100)
  const startMs = performance.now()
  await stop(rig.server)
  const tookMs = performance.now() - startMs
  expect(tookMs).toBeGreaterThan(7_500)
  // The answer itself may stand still for 60 s.
  expect(tookMs).toBeLessThan(20_000)
})
