import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Hono } from 'hono'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { HttpEnvironment } from '../../src/http/hono-environment.ts'
import { arrivalOrder } from '../../src/server/arrival-order.ts'
import { listen, stop } from '../../src/server/listener.ts'
import { clientOf, login, refresh } from '../support/login.ts'
import { exchangeBytes, open, statusOf } from '../support/raw-socket.ts'
import { startService } from '../support/start.ts'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

/** A listener whose handlers note the paths that they begin. */
async function serve(): Promise<{ url: string; begun: string[] }> {
  const { server, url, serve } = await listen(0)
  const begun: string[] = []
  const app = new Hono<HttpEnvironment>()
  app.get('*', (c) => {
    begun.push(c.req.path)
    return c.text('here')
  })
  serve(app)
  onTestFinished(() => {
    server.closeAllConnections()
    return stop(server)
  })
  return { url, begun }
}

function client(url: string): Socket {
  const socket = open(url).on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Sends a whole request and closes the connection before the service reads it. Resolves when the service has read later ones. */
async function sendAndClose(url: string, bytes: string): Promise<void> {
  const socket = client(url)
  await once(socket, 'connect')
  socket.write(bytes, () => socket.destroy())
  await once(socket, 'close')
  expect(statusOf(await exchangeBytes(url, ['GET /later HTTP/1.1', `Host: ${new URL(url).host}`]))).toBeGreaterThan(0)
}

test('requests begin in the order of their arrival', async () => {
  const inOrder = arrivalOrder()
  const begun: number[] = []
  await Promise.all([1, 2, 3].map((each) => inOrder().then(() => begun.push(each))))
  expect(begun).toEqual([1, 2, 3])
})

test('a request is answered while a test of the application has replaced setImmediate', async () => {
  const { url } = await serve()
  vi.useFakeTimers({ toFake: ['setImmediate'] })
  onTestFinished(() => void vi.useRealTimers())
  expect(statusOf(await exchangeBytes(url, ['GET / HTTP/1.1', 'Host: x']))).toBe(200)
})

test('a new connection waits for few requests of open ones, also if these always have another one', async () => {
  const { url, begun } = await serve()
  const count = (path: string): number => begun.filter((each) => each === path).length
  const [kept, fresh] = [20, 40]
  for (let each = 0; each < kept; each++) {
    const socket = client(url)
    socket.on('data', () => void socket.write(get('/kept')))
    socket.write(get('/kept'))
  }
  await expect.poll(() => count('/kept')).toBeGreaterThan(2 * kept)
  const before = count('/kept')
  const answers = Array.from({ length: fresh }, () => {
    const socket = client(url)
    socket.write(get('/fresh'))
    return once(socket, 'data')
  })
  await Promise.all(answers)
  // In turns of the event loop that handle all that they read, it is half of kept × fresh.
  expect(count('/kept') - before).toBeLessThan(2 * (kept + fresh))
})

test('a request whose client has closed the connection before it is handled is not handled', async () => {
  const { url, begun } = await serve()
  await sendAndClose(url, get('/closed'))
  expect(begun).toEqual(['/later'])
})

test('a token request whose client has gone before it is handled leaves the refresh token unused', async () => {
  const service = await startService()
  onTestFinished(service.close)
  const { refresh_token } = await login(service)
  const publicClient = clientOf(service, 'Demo public')
  const body = JSON.stringify({ client_id: publicClient.clientId, refresh_token })
  const head = ['POST /auth/v1/token?grant_type=refresh_token HTTP/1.1', `Host: ${new URL(service.authUrl).host}`]
  const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`, '', body]
  const refreshes = (): number =>
    service.dev.journal().filter((entry) => 'grantType' in entry && entry.grantType === 'refresh_token').length
  await sendAndClose(service.authUrl, [...head, ...headers].join('\r\n'))
  expect(refreshes()).toBe(0)
  expect((await refresh(service, publicClient, refresh_token)).status).toBe(200)
  expect(refreshes()).toBe(1)
})
