import { beforeEach, expect, test } from 'vitest'
import type { FaultRule, Service } from '../../src/index.ts'
import { agentSearch, callApi, clientOf, errorOf, login, refresh } from '../support/login.ts'
import { oneService } from '../support/one-service.ts'
import { startService } from '../support/start.ts'

let service: Service
const fresh = oneService(() => startService({ dev: 'on', graceMs: 0 }))
beforeEach(async () => {
  service = await fresh()
})

const tokenPath = '/auth/v1/token'

/** The same service in process and as a client in another process sees it. */
function seen(from: 'in process' | 'over sockets'): Service {
  const { people, clients } = service
  return from === 'in process' ? service : { ...service, people, clients, fetch: (input, init) => fetch(input, init) }
}

function faults(method: 'POST' | 'DELETE', rule?: unknown): Promise<Response> {
  const content = rule === undefined ? {} : { body: JSON.stringify(rule) }
  return service.fetch(`${service.authUrl}/_dev/faults`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...content,
  })
}

async function search(): Promise<Response> {
  const token = await service.dev.mintSessionToken('ada@demo.example')
  return callApi(service, { token, path: agentSearch, body: {} })
}

const both = ['in process', 'over sockets'] as const

test.each(both)('a status fault answers %s instead of the service, as often as it says', async (from) => {
  service.dev.addFault({
    match: { path: agentSearch, method: 'post', origin: 'base' },
    effect: { status: 503, body: { down: true }, headers: { 'Retry-After': '7' } },
    times: 2,
  })
  const call = () => callApi(seen(from), { path: agentSearch, body: {} })
  for (const _ of [1, 2]) {
    const answer = await call()
    expect({ status: answer.status, retryAfter: answer.headers.get('retry-after') }).toEqual({
      status: 503,
      retryAfter: '7',
    })
    expect({ contentType: answer.headers.get('content-type'), body: await answer.json() }).toEqual({
      contentType: 'application/json; charset=utf-8',
      body: { down: true },
    })
  }
  expect((await call()).status).toBe(401)
})

test.each(both)('reset breaks the connection %s and nothing is done', async (from) => {
  const client = clientOf(service, 'Demo public')
  const tokens = await login(service)
  service.dev.addFault({ match: { path: tokenPath }, effect: 'reset', times: 1 })
  await expect(refresh(seen(from), client, tokens.refresh_token)).rejects.toThrow(TypeError)
  expect((await refresh(seen(from), client, tokens.refresh_token)).status).toBe(200)
})

test.each(both)('drop-after-commit rotates %s, and then the answer is lost', async (from) => {
  const client = clientOf(service, 'Demo public')
  const tokens = await login(service)
  service.dev.addFault({ match: { path: tokenPath }, effect: 'drop-after-commit', times: 1 })
  await expect(refresh(seen(from), client, tokens.refresh_token)).rejects.toThrow('fetch failed')
  // No grace here: had nothing been committed, the old token would still be good.
  expect(await errorOf(await refresh(seen(from), client, tokens.refresh_token))).toBe('invalid_grant')
})

test.each(both)('truncate sends half of the answer %s', async (from) => {
  const token = await service.dev.mintSessionToken('ada@demo.example')
  const call = () => callApi(seen(from), { token, path: agentSearch, body: {} })
  const whole = await (await call()).text()
  service.dev.addFault({ match: { origin: 'base' }, effect: 'truncate', times: 1 })
  const answer = await call()
  expect(answer.status).toBe(200)
  const reader = answer.body?.getReader()
  const first = await reader?.read()
  const half = new TextDecoder('latin1').decode(first?.value)
  expect(Math.abs(half.length - Buffer.byteLength(whole) / 2)).toBeLessThan(1)
  await expect(reader?.read()).rejects.toThrow('terminated')
})

test.each(both)('a delay comes before the answer %s, which is the usual one', async (from) => {
  service.dev.addFault({ effect: { delayMs: 300 } })
  const startMs = performance.now()
  expect((await callApi(seen(from), { path: agentSearch, body: {} })).status).toBe(401)
  expect(performance.now() - startMs).toBeGreaterThan(280)
})

test('rules match by method, path, path beginning and origin; the oldest that matches counts', async () => {
  const rules: FaultRule[] = [
    { match: { method: 'GET' }, effect: { status: 201 } },
    { match: { origin: 'auth' }, effect: { status: 202 } },
    { match: { path: '/api/parent_agents' }, effect: { status: 203 } },
    { match: { path: '/api/parent_agents/*' }, effect: { status: 206, body: 'text' } },
    { effect: { status: 299 } },
  ]
  for (const rule of rules) service.dev.addFault(rule)
  const statusOf = async (url: string, method: string) => (await service.fetch(url, { method })).status
  expect(await statusOf(`${service.baseUrl}/x`, 'GET')).toBe(201)
  expect(await statusOf(service.authUrl + tokenPath, 'POST')).toBe(202)
  expect(await statusOf(`${service.baseUrl}/api/parent_agents`, 'POST')).toBe(203)
  expect(await (await callApi(service, { path: agentSearch, body: {} })).text()).toBe('text')
  expect(await statusOf(`${service.baseUrl}/api/llm_models/search`, 'POST')).toBe(299)
})

test('a faulty answer can be read by a registered origin, and preflights stay as they are', async () => {
  service.dev.addFault({ effect: { status: 500 } })
  const origin = 'https://app.demo.example'
  const headers = { origin, 'access-control-request-method': 'POST' }
  const preflight = await service.fetch(service.baseUrl + agentSearch, { method: 'OPTIONS', headers })
  expect(preflight.status).toBe(204)
  const answer = await service.fetch(service.baseUrl + agentSearch, { method: 'POST', headers: { origin } })
  expect({
    status: answer.status,
    accessControlAllowOrigin: answer.headers.get('access-control-allow-origin'),
  }).toEqual({ status: 500, accessControlAllowOrigin: origin })
})

test('POST /_dev/faults adds, DELETE clears, the journal names the fault, reset forgets it', async () => {
  expect((await faults('POST', { effect: { status: 418, body: 'tea' }, match: { origin: 'base' } })).status).toBe(200)
  const answer = await search()
  expect({ status: answer.status, text: await answer.text() }).toEqual({ status: 418, text: 'tea' })
  expect(service.dev.journal().at(-1)).toMatchObject({ path: agentSearch, status: 418, fault: 'status 418' })
  expect((await faults('DELETE')).status).toBe(200)
  expect((await search()).status).toBe(200)
  service.dev.addFault({ effect: 'reset' })
  await service.dev.reset()
  expect((await search()).status).toBe(200)
  service.dev.addFault({ effect: 'reset' })
  service.dev.clearFaults()
  expect((await search()).status).toBe(200)
})

const effects = 'effect: must be reset, truncate, drop-after-commit, {"status": 200 to 599} or {"delayMs": 0 to 60000}'
const path = 'match.path: must begin with /, without a query, and with * only at its end'
const mistakes: [unknown, string][] = [
  [{}, effects],
  [{ effect: 'explode' }, effects],
  [{ effect: { status: 200.5 } }, 'effect.status: must be a whole number from 200 to 599'],
  [{ effect: { delayMs: 3_600_000 } }, 'effect.delayMs: must be a whole number from 0 to 60000'],
  [{ effect: { delayMs: 1, status: 200 } }, effects],
  [{ effect: { status: 200, headers: { x: 'a\r\nb' } } }, 'effect.headers.x: must be ASCII'],
  [{ effect: 'reset', times: 0 }, 'times: needs at least 1'],
  [{ effect: 'reset', match: { path: 'elsewhere' } }, path],
  [{ effect: 'reset', match: { path: '/api/*/search' } }, path],
  [{ effect: 'reset', match: { path: '/auth/v1/token?grant_type=refresh_token' } }, path],
  [{ effect: 'reset', match: { origin: 'elsewhere' } }, 'match.origin: must be auth or base'],
  [{ effect: 'reset', match: { url: '/' } }, 'match.url: is unknown; use method, path, origin'],
  [{ effect: 'reset', 'a secret': 1 }, '…: is unknown; use match, effect, times'],
  ['reset', 'must be an object'],
]

test.each(mistakes)('%j is no fault rule, and the message names the member and its values', async (rule, problem) => {
  const answer = await faults('POST', rule)
  expect({ status: answer.status, body: await answer.json() }).toEqual({ status: 422, body: { error: problem } })
  expect(() => service.dev.addFault(rule as FaultRule)).toThrow(new TypeError(problem))
  expect(problem.length).toBeLessThanOrEqual(160)
  expect((await search()).status).toBe(200)
})
