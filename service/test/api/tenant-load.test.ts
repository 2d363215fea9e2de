// @module-tag database

import type { Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createTenantGate } from '../../src/api/api-app.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { listen, stop } from '../../src/server/listener.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { tenantStore } from '../../src/store/tenant.ts'
import { agentSearch, callApi } from '../support/login.ts'
import { open, statusOf } from '../support/raw-socket.ts'
import { assemble, isOnPostgres } from '../support/start.ts'
import { observe } from '../support/statements.ts'

// What one tenant keeps, asks for and does not read may not cost the others.

const modelSearch = '/api/llm_models/search'

let assembly: Assembly
let ada: string
let ola: string
beforeAll(async () => {
  assembly = await assemble()
})
beforeEach(async () => {
  await assembly.service.dev.reset()
  ada = await assembly.service.dev.mintSessionToken('ada@demo.example')
  ola = await assembly.service.dev.mintSessionToken('ola@other.example')
})
afterAll(() => assembly.service.close())

interface Answer {
  status: number
  body: { data: { items: unknown[]; count: number }; detail: { loc: string[]; type: string }[]; error_type: string }
}

async function search(token: string, body: object, path = agentSearch): Promise<Answer> {
  const answer = await callApi(assembly.service, { token, path, body })
  return { status: answer.status, body: (await answer.json()) as Answer['body'] }
}

/** Adds agents as no call can: with descriptions of any length. */
async function keepAgents(count: number, description: string): Promise<void> {
  const db = rawDatabase(assembly.context.store.db)
  const model = await db.selectFrom('llm_models').select('id').where('tenant_id', '=', 'demo').executeTakeFirstOrThrow()
  const agents = Array.from({ length: count }, (_, index) => ({
    parent_agent_type: 'x',
    parent_agent_type_key: 'long',
    agent_name: `Long ${index}`,
    full_display_name: `Long ${index}`,
    display_name: `Long ${index}`,
    description,
    configs: '{}',
    llm_model: model.id,
    active: 1 as const,
    state_function: '[]',
    created_ms: 0,
  }))
  await tenantStore(assembly.context.store.db, 'demo').agents.createAll(agents)
}

test('a text that repeats itself costs a search a bounded time', async () => {
  await keepAgents(500, 'a'.repeat(4_000))
  const count = async (search_value: string) => (await search(ada, { search_value, limit: 1 })).body.data.count
  const startMs = performance.now()
  const hits = [await count(`${'a'.repeat(255)}b`), await count(`b${'a'.repeat(255)}`), await count('a'.repeat(256))]
  expect(hits).toEqual([0, 0, 500])
  // The product of both lengths would take minutes.
  expect(performance.now() - startMs).toBeLessThan(15_000)
})

test.each([
  [agentSearch, { filters: [{ column: 'agent_name', operator: 'equals', value: 'x'.repeat(1_501) }] }, 'filters'],
  [modelSearch, { filters: [{ column: 'provider', operator: 'equals', value: 'x'.repeat(1_501) }] }, 'filters'],
  [modelSearch, { provider: 'x'.repeat(1_501) }, 'provider'],
])('%s with a text of 1,501 characters is 422', async (path, body, member) => {
  const { status, body: answer } = await search(ada, body, path)
  expect({ status, member: answer.detail[0]?.loc[1], type: answer.detail[0]?.type }).toEqual({
    status: 422,
    member,
    type: 'string_too_long',
  })
})

test('a page over 8 MiB is 422 at limit, and a smaller page of the same rows is given', async () => {
  await keepAgents(40, 'a'.repeat(255 * 1_024))
  const filters = [{ column: 'parent_agent_type_key', operator: 'equals', value: 'long' }]
  const whole = await search(ada, { filters, limit: 40 })
  expect({ status: whole.status, detail: whole.body.detail }).toEqual({
    status: 422,
    detail: [
      { loc: ['body', 'limit'], msg: 'the response is over 8 MiB; ask for fewer rows', type: 'less_than_equal' },
    ],
  })
  const part = await search(ada, { filters, limit: 20 })
  expect({ status: part.status, itemsCount: part.body.data.items.length, count: part.body.data.count }).toEqual({
    status: 200,
    itemsCount: 20,
    count: 40,
  })
})

test('calls of one tenant are in progress two at a time, and all of them are answered', async () => {
  let running = 0
  let most = 0
  observe(assembly, {
    before({ sql }) {
      if (!sql.includes('search_text')) return
      running += 1
      most = Math.max(most, running)
    },
    after({ sql }) {
      if (sql.includes('search_text')) running -= 1
    },
  })
  const all = await Promise.all(Array.from({ length: 40 }, () => search(ada, { search_value: 'a' })))
  expect(all.map(({ status }) => status)).toEqual(Array(40).fill(200))
  // On libSQL a query has ended before the next call begins.
  expect(most).toBe(isOnPostgres() ? 2 : 1)
})

test('of calls that wait, more than five hundred of one tenant get 429, and another tenant has its place', async () => {
  const gate = createTenantGate()
  const first = await Promise.all(Array.from({ length: 2 }, () => gate.enter('busy')))
  const waiting = Array.from({ length: 500 }, () => gate.enter('busy').then((leave) => leave()))
  await expect(gate.enter('busy')).rejects.toMatchObject({
    status: 429,
    type: 'too_many_requests',
    headers: { 'Retry-After': '1' },
  })
  await gate.enter('other')
  for (const leave of first) leave()
  await Promise.all(waiting)
  await gate.enter('busy')
})

test('of responses that no client reads few are made, and other tenants go on', async () => {
  await keepAgents(25, 'a'.repeat(286 * 1_024))
  const listener = await listen(0)
  listener.serve(assembly.apiApp)
  onTestFinished(async () => {
    listener.server.closeAllConnections()
    await stop(listener.server)
  })
  let made = 0
  observe(assembly, {
    after({ sql }) {
      if (sql.includes('as "llm_model_name"')) made += 1
    },
  })
  const body = '{"limit":25,"filters":[{"column":"parent_agent_type_key","operator":"equals","value":"long"}]}'
  const request = [
    `POST ${agentSearch} HTTP/1.1`,
    `Host: ${new URL(assembly.service.baseUrl).host}`,
    `Authorization: Bearer ${ada}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
  const unread = Array.from({ length: 530 }, () => {
    const socket = open(listener.url)
      .on('error', () => {})
      .pause()
    socket.write(request)
    return socket
  })
  // Those that come while all places are taken are told to come again.
  await Promise.any(unread.slice(-10).map(refusedAs429))
  expect(made).toBeLessThanOrEqual(2)
  expect((await search(ola, {}, modelSearch)).status).toBe(200)
  for (const socket of unread) socket.destroy()
})

async function refusedAs429(socket: Socket): Promise<void> {
  const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve).resume())
  expect(statusOf(String(first))).toBe(429)
}
