// @module-tag database

import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { agent, type Created, countAgents, createAgent } from '../support/create-agent.ts'
import { agentSearch, callApi } from '../support/login.ts'
import { oneAssembly } from '../support/one-service.ts'
import { removeStatementTimeout } from '../support/untimed.ts'

let assembly: Assembly
let service: Service
let token: string
const fresh = oneAssembly()
beforeEach(async () => {
  assembly = await fresh()
  service = assembly.service
  token = await service.dev.mintSessionToken('ada@demo.example')
})

const create = (body: object, bearer = token): Promise<Created> => createAgent({ service, token: bearer }, body)
const count = (bearer = token): Promise<number> => countAgents({ service, token: bearer })

test('a created agent comes back in items without count, and is found and readable afterwards', async () => {
  const created = await create(agent)
  expect({ status: created.status, members: Object.keys(created.data) }).toEqual({ status: 200, members: ['items'] })
  const [item] = created.data.items
  expect(item).toMatchObject({
    ...agent,
    agent_key: 'tax_helper',
    parent_agent_type_key: 'document_agent',
    active: true,
  })
  expect(item).toMatchObject({ tenant: 'demo', llm_model_name: 'Aurora', state_function: [] })
  const found = await callApi(service, { token, path: agentSearch, body: { search_value: 'tax helper' } })
  expect(((await found.json()) as Created).data.items).toEqual([item])
  const path = `/api/parent_agents/${item?.id}/state_function/context_variables`
  expect((await callApi(service, { token, path })).status).toBe(200)
})

test('unknown and read-only members are ignored', async () => {
  const spoof = {
    id: 1,
    tenant: 'other',
    agent_key: 'x',
    llm_model: 99,
    created_at: 'x',
    state_function: [1],
    configs: {},
  }
  const { status, data } = await create({ ...agent, ...spoof })
  expect(status).toBe(200)
  expect(data.items[0]).toMatchObject({ tenant: 'demo', agent_key: 'tax_helper', state_function: [] })
  expect(data.items[0]?.id).not.toBe(1)
  expect(await count(await service.dev.mintSessionToken('ola@other.example'))).toBe(12)
})

test('names are stored and returned as sent', async () => {
  const sent = { agent_name: 'Cafe\u0301 Å\u212b', description: 'cafe\u0301', parent_agent_type: 'Te\u0301 Agent' }
  const { data } = await create(sent)
  const full_display_name = `${sent.agent_name} (${sent.parent_agent_type})`
  const stored = { ...sent, display_name: sent.agent_name, full_display_name }
  expect(data.items[0]).toMatchObject({ ...stored, agent_key: 'caf\u00e9_åå', parent_agent_type_key: 't\u00e9_agent' })
  const answer = await callApi(service, { token, path: agentSearch, body: { search_value: 'cafe\u0301' } })
  expect(((await answer.json()) as Created).data.items).toEqual(data.items)
})

test.each(['Caf\u00e9', 'Cafe\u0301'])(
  'an agent is found, and its key taken, by each spelling of its name: %j',
  async (sent) => {
    await create({ ...agent, agent_name: sent, parent_agent_type: sent })
    for (const spelt of ['Caf\u00e9', 'Cafe\u0301']) {
      const key = spelt.toLowerCase()
      for (const body of [
        { search_value: spelt.toUpperCase() },
        { filters: [{ column: 'agent_name', operator: 'equals', value: spelt }] },
        { filters: [{ column: 'agent_key', operator: 'equals', value: key }] },
        { filters: [{ column: 'parent_agent_type_key', operator: 'equals', value: key }] },
      ]) {
        const answer = await callApi(service, { token, path: agentSearch, body })
        const { items } = ((await answer.json()) as Created).data
        expect({ body, names: items.map(({ agent_name }) => agent_name) }).toEqual({ body, names: [sent] })
      }
      const again = await create({ ...agent, agent_name: spelt })
      expect({ status: again.status, type: again.detail[0]?.type }).toEqual({ status: 422, type: 'already_exists' })
    }
    for (const [index, spelt] of ['Caf\u00e9', 'Cafe\u0301'].entries()) {
      const typed = { parent_agent_type: sent, parent_agent_type_key: spelt.toLowerCase() }
      const { status, data } = await create({ ...agent, ...typed, agent_name: `Other ${index}` })
      expect({ status, parent_agent_type_key: data.items[0]?.parent_agent_type_key }).toEqual({
        status: 200,
        parent_agent_type_key: 'caf\u00e9',
      })
    }
  },
)

test.each([
  ['Persian with ZWNJ', 'می\u200cخواهم'],
  ['Hindi with ZWJ behind a virama', 'क्\u200dष'],
  ['Hindi with ZWNJ behind a virama', 'क्\u200cष'],
  ['a family', '👨\u200d👩\u200d👧'],
  ['a profession with a skin tone', '👩🏽\u200d💻'],
  ['a flag with a variation selector', '🏳\ufe0f\u200d🌈'],
])('%s is text, and comes back as sent', async (_, agent_name) => {
  const { status, data } = await create({ ...agent, agent_name })
  expect({ status, agent_name: data.items[0]?.agent_name, agent_key: data.items[0]?.agent_key }).toEqual({
    status: 200,
    agent_name,
    agent_key: agent_name,
  })
})

test.each([
  ['500 letters sent as 1,000 code points are not taken', 'e\u0301', 422],
  ['500 that NFC writes as 1,000 are', '\u0958', 200],
] as const)('the length of a name is counted as sent: %s', async (_, letter, status) => {
  expect(await create({ ...agent, agent_name: letter.repeat(500) })).toMatchObject({ status })
})

test.each(['docAgent', 'ßa', 'ŉa', 'ﬁrst_agent', 'ςa', 'ǆa'])(
  'the type that the key %s alone gives agrees with it',
  async (parent_agent_type_key) => {
    const { data } = await create({ ...agent, parent_agent_type: undefined, parent_agent_type_key })
    const { parent_agent_type } = data.items[0] ?? {}
    const both = { parent_agent_type, parent_agent_type_key, agent_name: 'Another' }
    expect((await create({ ...agent, ...both })).status).toBe(200)
  },
)

test('of 50 equal names at once one is created, and the other tenant is free to use it', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => create(agent)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const refused = answers.find(({ status }) => status === 422)
  expect(refused?.detail).toMatchObject([{ loc: ['body', 'agent_name'], type: 'already_exists' }])
  expect(await count()).toBe(13)
  expect((await create(agent, await service.dev.mintSessionToken('ola@other.example'))).status).toBe(200)
})

test('a tenant has at most 10,000 agents: the next one is 409 in the envelope, and other tenants go on', async () => {
  const rows = (firstTenant: string, most: number) => sql`
    insert into parent_agents (tenant_id, parent_agent_type, parent_agent_type_key, agent_key, agent_name, name_as_sent,
      full_display_name, display_name, description, configs, llm_model, active, state_function, created_ms, search_text)
    select a.tenant_id, a.parent_agent_type, a.parent_agent_type_key,
      a.agent_key || '-' || b.id || '-' || c.id || '-' || d.id, a.agent_name, a.name_as_sent,
      a.full_display_name, a.display_name, a.description, a.configs, a.llm_model, a.active, a.state_function,
      a.created_ms, a.search_text
    from parent_agents a, parent_agents b, parent_agents c, parent_agents d
    where a.tenant_id = ${firstTenant} and b.tenant_id = 'demo' and c.tenant_id = 'demo' and d.tenant_id = 'demo'
    limit ${most}`
  await rawDatabase(assembly.context.store.db)
    .transaction()
    .execute(async (filling) => {
      await removeStatementTimeout(filling)
      await rows('demo', 10_000 - 12 - 1).execute(filling)
    })
  expect((await create(agent)).status).toBe(200)
  const path = '/api/parent_agents'
  const refused = await callApi(service, { token, path, body: { ...agent, agent_name: 'One more' } })
  expect({ status: refused.status, body: await refused.json() }).toEqual({
    status: 409,
    body: {
      success: false,
      data: {},
      error_type: 'limit_reached',
      error_message: 'the tenant has the maximum of 10000 agents',
    },
  })
  expect(await count()).toBe(10_000)
  expect((await create(agent, await service.dev.mintSessionToken('ola@other.example'))).status).toBe(200)
})

test.each([
  ['a space', { agent_name: ' ', description: ' ' }, { agent_key: '_' }],
  ['one emoji', { agent_name: '🙂' }, { agent_key: '🙂' }],
  [
    'the type key alone',
    { parent_agent_type: undefined, parent_agent_type_key: 'tax_agent' },
    { parent_agent_type: 'Tax Agent' },
  ],
  ['both types alike', { parent_agent_type_key: 'document_agent' }, { parent_agent_type: 'Document Agent' }],
  ['the type as its key', { parent_agent_type_key: 'Document Agent' }, { parent_agent_type_key: 'document_agent' }],
  ['off', { active: false }, { active: false }],
  ['null for what is optional', { active: null, parent_agent_type_key: null }, { active: true }],
  ['a description of 4,000 emoji', { description: '🙂'.repeat(4_000) }, { description: '🙂'.repeat(4_000) }],
  ['a description of several lines', { description: 'a\nb' }, { description: 'a\nb' }],
])('%s is taken', async (_, change, expected) => {
  const { status, data } = await create({ ...agent, ...change })
  expect(status).toBe(200)
  expect(data.items[0]).toMatchObject(expected)
})
