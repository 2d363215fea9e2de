import { once } from 'node:events'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Assembly } from '../../src/server/create-service.ts'
import { assemble } from '../../src/server/create-service.ts'
import { listen, stop } from '../../src/server/listener.ts'
import { keepAgents } from '../support/keep-agents.ts'
import { agentSearch, callApi } from '../support/login.ts'
import { exchangeBytes, open, statusOf } from '../support/raw-socket.ts'
import { observe } from '../support/statements.ts'

// The queries of libSQL run on the event loop, which all requests of both hosts share.

let assembly: Assembly
let ada: string
let ola: string
beforeAll(async () => {
  assembly = await assemble({})
  ada = await assembly.service.dev.mintSessionToken('ada@demo.example')
  ola = await assembly.service.dev.mintSessionToken('ola@other.example')
  // The first call loads the modules of the API.
  await callApi(assembly.service, { token: ada, path: agentSearch, body: {} })
})
afterAll(() => assembly.service.close())

/** A search as bytes. */
function searchRequest(token: string, body: string): string {
  return [
    `POST ${agentSearch} HTTP/1.1`,
    `Host: ${new URL(assembly.service.baseUrl).host}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
}

test('a request to the authorization host waits for few of the searches that arrived with it', async () => {
  const [base, auth] = [await listen(0), await listen(0, { origin: 'auth' })]
  base.serve(assembly.apiApp)
  auth.serve(assembly.authApp)
  onTestFinished(async () => {
    await Promise.all([base, auth].map(({ server }) => stop(server)))
  })
  let searches = 0
  observe(assembly, {
    after({ sql }) {
      if (sql.includes('search_text')) searches += 1
    },
  })
  let accepted = 0
  base.server.on('connection', () => {
    accepted += 1
  })
  const sockets = Array.from({ length: 100 }, () => open(base.url))
  await expect.poll(() => accepted).toBe(100)
  const answers = sockets.map((socket) => once(socket, 'data'))
  const request = searchRequest(ada, '{"search_value":"a"}')
  for (const socket of sockets) socket.write(request)
  const host = `Host: ${new URL(assembly.service.authUrl).host}`
  const other = await exchangeBytes(auth.url, ['GET /auth/v1/authorize?client_id=x HTTP/1.1', host])
  expect(statusOf(other)).toBe(400)
  expect(searches).toBeLessThan(20)
  await Promise.all(answers)
  expect(searches).toBeGreaterThan(20)
  for (const socket of sockets) socket.destroy()
})

test('a call of another tenant waits for few of the searches whose connections opened before its own', async () => {
  const base = await listen(0)
  base.serve(assembly.apiApp)
  onTestFinished(() => stop(base.server))
  let searches = 0
  let state: 'busy' | 'over' = 'busy'
  observe(assembly, {
    after({ sql, parameters }) {
      if (!sql.includes('search_text') || !parameters.includes('demo')) return
      searches += 1
      const before = process.cpuUsage()
      // The pauses after fourteen of these are long enough for sixty connections, also for a process that has a tenth of a core.
      while (state === 'busy' && process.cpuUsage(before).user < 50_000);
    },
  })
  onTestFinished(() => {
    state = 'over'
  })
  // A server accepts one connection in a turn of the event loop.
  const sockets = Array.from({ length: 60 }, () => open(base.url))
  const answers = sockets.map((socket) => once(socket, 'data'))
  for (const socket of sockets) socket.write(searchRequest(ada, '{"search_value":"a"}'))
  const other = await exchangeBytes(base.url, [searchRequest(ola, '{}').split('\r\n\r\n')[0] ?? ''], '{}')
  expect({ status: statusOf(other), isEarly: searches < 15 }).toEqual({ status: 200, isEarly: true })
  state = 'over'
  await Promise.all(answers)
  for (const socket of sockets) socket.destroy()
})

test('a request to the authorization host waits for few of the bodies that arrived with it', async () => {
  const [base, auth] = [await listen(0), await listen(0, { origin: 'auth' })]
  base.serve(assembly.apiApp)
  auth.serve(assembly.authApp)
  onTestFinished(async () => {
    await Promise.all([base, auth].map(({ server }) => stop(server)))
  })
  const checked = () =>
    assembly.context.journal.entries().filter((entry) => entry.kind === 'request' && entry.status === 422).length
  let accepted = 0
  base.server.on('connection', () => {
    accepted += 1
  })
  const sockets = Array.from({ length: 100 }, () => open(base.url))
  await expect.poll(() => accepted).toBe(100)
  const answers = sockets.map((socket) => once(socket, 'data'))
  for (const socket of sockets) socket.write(searchRequest(ada, '{'))
  const host = `Host: ${new URL(assembly.service.authUrl).host}`
  const other = await exchangeBytes(auth.url, ['GET /auth/v1/authorize?client_id=x HTTP/1.1', host])
  expect({ status: statusOf(other), isEarly: checked() < 20 }).toEqual({ status: 400, isEarly: true })
  await Promise.all(answers)
  expect(checked()).toBe(100)
  for (const socket of sockets) socket.destroy()
})

test('a request to the authorization host is answered during a search', async () => {
  const [base, auth] = [await listen(0), await listen(0, { origin: 'auth' })]
  base.serve(assembly.apiApp)
  auth.serve(assembly.authApp)
  onTestFinished(async () => {
    await Promise.all([base, auth].map(({ server }) => stop(server)))
  })
  await keepAgents(assembly, 64 * 40, 'text')
  const host = `Host: ${new URL(assembly.service.authUrl).host}`
  let reads = 0
  let answered: Promise<string> | undefined
  let state: 'busy' | 'over' = 'busy'
  observe(assembly, {
    after({ sql }) {
      if (!sql.includes('search_text')) return
      reads += 1
      answered ??= exchangeBytes(auth.url, ['GET /auth/v1/authorize?client_id=x HTTP/1.1', host])
      const before = process.cpuUsage()
      while (state === 'busy' && process.cpuUsage(before).user < 30_000);
    },
  })
  const searched = callApi(assembly.service, { token: ada, path: agentSearch, body: { search_value: 'zz' } })
  onTestFinished(() => {
    state = 'over'
  })
  await expect.poll(() => answered).toBeDefined()
  expect(statusOf((await answered) ?? '')).toBe(400)
  expect(reads).toBeLessThan(20)
  state = 'over'
  expect((await searched).status).toBe(200)
  expect(reads).toBeGreaterThan(39)
})

test('calls beyond those that may wait are 429 with Retry-After, and the tenant goes on', async () => {
  await assembly.service.dev.reset()
  const token = await assembly.service.dev.mintSessionToken('ada@demo.example')
  const search = () => callApi(assembly.service, { token, path: agentSearch, body: { limit: 1 } })
  const answers = await Promise.all(Array.from({ length: 1_100 }, search))
  const refused = answers.find(({ status }) => status === 429)
  expect({ body: await refused?.json(), retryAfter: refused?.headers.get('retry-after') }).toMatchObject({
    body: { error_type: 'too_many_requests' },
    retryAfter: '1',
  })
  const statuses = new Set(answers.map(({ status }) => status))
  // On a slow machine every call may have waited too long.
  statuses.delete(200)
  expect(statuses).toEqual(new Set([429]))
  expect((await search()).status).toBe(200)
})
