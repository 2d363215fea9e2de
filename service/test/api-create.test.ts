import { afterEach, beforeEach, expect, test } from 'vitest'
import { keyOf } from '../src/api/agent-key.ts'
import type { Service } from '../src/index.ts'
import { agentSearch, callApi } from './login.ts'
import { createService } from './start.ts'

let service: Service
let token: string
beforeEach(async () => {
  service = await createService()
  token = await service.dev.mintSessionToken('ada@demo.example')
})
afterEach(() => service.close())

interface Created {
  data: { items: Record<string, unknown>[] }
  detail: { loc: (string | number)[]; type: string }[]
}

const agent = { agent_name: 'Tax Helper', description: 'Explains tax forms.', parent_agent_type: 'Document Agent' }

async function create(body: object, bearer = token): Promise<{ status: number } & Created> {
  const answer = await callApi(service, { token: bearer, path: '/api/parent_agents', body })
  return { status: answer.status, ...((await answer.json()) as Created) }
}

async function count(bearer = token): Promise<number> {
  const answer = await callApi(service, { token: bearer, path: agentSearch, body: {} })
  return ((await answer.json()) as { data: { count: number } }).data.count
}

test('S-081 a created agent comes back in items without count, and is found and readable afterwards', async () => {
  const created = await create(agent)
  expect([created.status, Object.keys(created.data)]).toEqual([200, ['items']])
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

test('S-074 unknown and read-only members are ignored', async () => {
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

test.each([
  ['A  B', 'a__b'],
  [' A ', '_a_'],
  ['A\u00a0B', 'a\u00a0b'],
  ['\u0130', 'i\u0307'],
  ['ΑΣ', 'ας'],
  ['\u212a', 'k'],
])('S-076 the key of %j is %j', (name, key) => {
  expect(keyOf(name)).toBe(key)
})

test('S-076 names are brought to NFC, so both spellings of é have one key', async () => {
  expect((await create({ ...agent, agent_name: 'Cafe\u0301' })).data.items[0]?.agent_name).toBe('Caf\u00e9')
  expect((await create({ ...agent, agent_name: 'Caf\u00e9' })).status).toBe(422)
})

test.each(['a\tb', 'a\nb', 'a\u200bb', 'a\u202eb', 'a\ufeffb', 'a\0b'])(
  'S-076 the name %j is 422',
  async (agent_name) => {
    const { status, detail } = await create({ ...agent, agent_name })
    expect([status, detail[0]?.loc]).toEqual([422, ['body', 'agent_name']])
    expect(await count()).toBe(12)
  },
)

test.each([
  ['500 letters sent as 1,000 are taken', 'e\u0301', 200],
  ['500 letters that NFC writes as 1,000 are not', '\u0958', 422],
] as const)('A-17 the length of a name is that of its NFC: %s', async (_, letter, status) => {
  expect(await create({ ...agent, agent_name: letter.repeat(500) })).toMatchObject({ status })
})

test.each(['ßa', 'ŉa', 'ﬁrst_agent', 'ςa', 'ǆa'])(
  'A-11 the type that the key %s alone gives agrees with it',
  async (parent_agent_type_key) => {
    const { data } = await create({ ...agent, parent_agent_type: undefined, parent_agent_type_key })
    const { parent_agent_type } = data.items[0] ?? {}
    const both = { parent_agent_type, parent_agent_type_key, agent_name: 'Another' }
    expect((await create({ ...agent, ...both })).status).toBe(200)
  },
)

test('S-077 of 50 equal names at once one is created, and the other tenant is free to use it', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => create(agent)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const refused = answers.find(({ status }) => status === 422)
  expect(refused?.detail).toMatchObject([{ loc: ['body', 'agent_name'], type: 'already_exists' }])
  expect(await count()).toBe(13)
  expect((await create(agent, await service.dev.mintSessionToken('ola@other.example'))).status).toBe(200)
})

test.each([
  ['no name', { agent_name: undefined }, ['agent_name'], 'missing'],
  ['an empty name', { agent_name: '' }, ['agent_name'], 'string_too_short'],
  ['a number for a name', { agent_name: 1 }, ['agent_name'], 'string_type'],
  ['null for a name', { agent_name: null }, ['agent_name'], 'string_type'],
  ['a name of 501 characters', { agent_name: 'x'.repeat(501) }, ['agent_name'], 'string_too_long'],
  ['no description', { description: undefined }, ['description'], 'missing'],
  ['an empty description', { description: '' }, ['description'], 'string_too_short'],
  ['NUL in the description', { description: 'a\0' }, ['description'], 'string_unstorable'],
  ['neither type', { parent_agent_type: undefined }, ['parent_agent_type_key'], 'missing'],
  ['an empty type', { parent_agent_type: '' }, ['parent_agent_type'], 'string_too_short'],
  ['an empty type key', { parent_agent_type_key: '' }, ['parent_agent_type_key'], 'string_too_short'],
  ['types that differ', { parent_agent_type_key: 'other_type' }, ['parent_agent_type_key'], 'value_error'],
  ['text for active', { active: 'yes' }, ['active'], 'boolean_type'],
])('S-078 %s is 422', async (_, change, path, type) => {
  const { status, detail } = await create({ ...agent, ...change })
  expect(status).toBe(422)
  expect(detail).toMatchObject([{ loc: ['body', ...path], type }])
  expect(await count()).toBe(12)
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
  ['off', { active: false }, { active: false }],
  ['null for what is optional', { active: null, parent_agent_type_key: null }, { active: true }],
  ['a description of several lines', { description: 'a\nb' }, { description: 'a\nb' }],
])('S-078 %s is taken', async (_, change, expected) => {
  const { status, data } = await create({ ...agent, ...change })
  expect(status).toBe(200)
  expect(data.items[0]).toMatchObject(expected)
})
