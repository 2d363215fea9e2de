// @module-tag database

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { agentSearch, callApi } from '../support/login.ts'
import { assemble } from '../support/start.ts'

interface Agent {
  id: number
  agent_key: string
  agent_name: string
  tenant: string
  active: boolean
  llm_model: number
}
interface Found {
  data: { items: Agent[]; count: number }
}
interface Invalid {
  detail: { loc: (string | number)[]; msg: string; type: string; input?: unknown; ctx?: object }[]
}

let assembly: Assembly
let service: Service
let token: string
let otherToken: string
beforeAll(async () => {
  assembly = await assemble({})
  service = assembly.service
  token = await service.dev.mintSessionToken('ada@demo.example')
  otherToken = await service.dev.mintSessionToken('ola@other.example')
})
afterAll(() => service.close())

async function search(body: unknown, bearer = token): Promise<Found['data']> {
  const answer = await callApi(service, { token: bearer, path: agentSearch, body })
  const text = await answer.text()
  expect(answer.status, text).toBe(200)
  return (JSON.parse(text) as Found).data
}

async function invalid(body: unknown, path = agentSearch): Promise<Invalid['detail']> {
  const answer = await callApi(service, { token, path, body })
  expect(answer.status, JSON.stringify(body)?.slice(0, 200)).toBe(422)
  const json = (await answer.json()) as Invalid
  expect(Object.keys(json)).toEqual(['detail'])
  for (const item of json.detail) {
    expect(Object.keys(item).every((name) => ['loc', 'msg', 'type', 'input', 'ctx'].includes(name))).toBe(true)
    expect({ message: typeof item.msg, type: typeof item.type, hasPath: Array.isArray(item.loc) }).toEqual({
      message: 'string',
      type: 'string',
      hasPath: true,
    })
  }
  return json.detail
}

const names = ({ items }: Found['data']): string[] => items.map(({ agent_name }) => agent_name)
const equals = (column: string, value: unknown) => ({ column, operator: 'equals', value })

test.each(['x', '1.5', '1e3', '%20', '0x1'])('the id %j is not a whole number', async (id) => {
  const answer = await callApi(service, { token, path: `/api/parent_agents/${id}/state_function/context_variables` })
  expect(answer.status).toBe(422)
  expect(((await answer.json()) as Invalid).detail[0]).toMatchObject({
    loc: ['path', 'parent_agent_id'],
    type: 'integer_parsing',
  })
})

test('an agent of another tenant is answered as an unknown one', async () => {
  const [foreign] = (await search({ limit: 1 }, otherToken)).items
  const answers = [foreign?.id, 999_999, -1, '99999999999999999999'].map(async (id) => {
    const answer = await callApi(service, { token, path: `/api/parent_agents/${id}/state_function/context_variables` })
    return { status: answer.status, text: await answer.text() }
  })
  const [first, ...others] = await Promise.all(answers)
  expect(first?.status).toBe(404)
  for (const other of others) expect(other).toEqual(first)
})

test('filters on tenant and id only narrow', async () => {
  const [foreign] = (await search({ limit: 1 }, otherToken)).items
  for (const filter of [equals('tenant', 'other'), equals('id', foreign?.id)]) {
    expect(await search({ filters: [filter] })).toEqual({ items: [], count: 0 })
  }
  const wide = { operator: 'or', filters: [equals('tenant', 'other'), equals('tenant', 'demo')] }
  const found = await search({ filters: [wide] })
  expect({ count: found.count, tenants: new Set(found.items.map(({ tenant }) => tenant)) }).toEqual({
    count: 12,
    tenants: new Set(['demo']),
  })
  expect((await search({}, otherToken)).items.every(({ tenant }) => tenant === 'other')).toBe(true)
})

test.each([
  ['limit', 0, 'greater_than_equal'],
  ['limit', 251, 'less_than_equal'],
  ['limit', -1, 'greater_than_equal'],
  ['limit', 2 ** 31, 'less_than_equal'],
  ['limit', 2 ** 53, 'less_than_equal'],
  ['limit', -(2 ** 53), 'greater_than_equal'],
  ['limit', 1e300, 'less_than_equal'],
  ['limit', '10', 'integer_type'],
  ['limit', true, 'integer_type'],
  ['limit', 1.5, 'integer_type'],
  ['limit', null, 'integer_type'],
  ['offset', -1, 'greater_than_equal'],
  ['offset', 2 ** 31, 'less_than_equal'],
  ['offset', 2 ** 53, 'less_than_equal'],
  ['offset', -(2 ** 53), 'greater_than_equal'],
  ['offset', '0', 'integer_type'],
  ['search_value', 7, 'string_type'],
  ['search_value', 'a\0b', 'string_unstorable'],
  ['search_value', '\ud800', 'string_unstorable'],
  ['search_value', 'x'.repeat(257), 'string_too_long'],
  ['active', 'true', 'boolean_type'],
  ['filters', {}, 'array_type'],
  ['sort', 'id', 'object_type'],
  ['sort', Array.from({ length: 11 }, () => ({ column: 'id' })), 'too_many'],
])('%s %j is 422 with one item, %s', async (member, value, type) => {
  expect(await invalid({ [member]: value })).toMatchObject([{ loc: ['body', member], type }])
})

test.each(['agent_key', 'agent_name', 'parent_agent_type_key', 'tenant'])(
  'a filter of %s takes 1,500 characters, as many as a key can have, and refuses 1,501',
  async (column) => {
    const filter = (value: string) => ({ filters: [{ column, operator: 'equals', value }] })
    expect(await search(filter('🙂'.repeat(1_500)))).toEqual({ items: [], count: 0 })
    expect(await invalid(filter('🙂'.repeat(1_501)))).toMatchObject([
      { loc: ['body', 'filters', 0, 'value'], type: 'string_too_long', msg: 'at most 1500 characters' },
    ])
  },
)

test.each(['İ', '\ufb2c', '\u{1d160}'])(
  'an agent is found by its key and its name when lower case or NFC has made them longer: %j',
  async (letter) => {
    const added = { agent_name: letter.repeat(500), description: 'd', parent_agent_type: letter.repeat(500) }
    const answer = await callApi(service, { token: otherToken, path: '/api/parent_agents', body: added })
    const { items } = ((await answer.json()) as { data: { items: Record<string, string>[] } }).data
    expect([...(items[0]?.agent_key ?? '')].length).toBeGreaterThan(500)
    for (const column of ['agent_key', 'agent_name', 'parent_agent_type_key']) {
      const filters = [{ column, operator: 'equals', value: items[0]?.[column] }]
      expect({ column, count: (await search({ filters }, otherToken)).count }).toEqual({ column, count: 1 })
    }
  },
)

test('1e999 and lone surrogates written as escapes are 422', async () => {
  expect((await invalid('{"limit":1e999}'))[0]).toMatchObject({ loc: ['body', 'limit'], type: 'integer_type' })
  expect((await invalid('{"search_value":"\\ud800"}'))[0]).toMatchObject({ type: 'string_unstorable' })
})

test('1 and 250, 0 and the largest offset are taken', async () => {
  expect((await search({ limit: 1, offset: 0 })).items).toHaveLength(1)
  expect(await search({ limit: 250, offset: 2 ** 31 - 1 })).toEqual({ items: [], count: 12 })
})

test.each([
  ['100%', ['100% Coverage']],
  ['%', ['100% Coverage']],
  ['legacy_i', ['Legacy_Import']],
  ['LEGACY', ['Legacy_Import']],
  ['a\\b', []],
  ['\\', []],
  ["' or 1=1 --", []],
  ['invoices and lists', ['Invoice Reader']],
])('search_value %j is literal text', async (search_value, expected) => {
  const found = await search({ search_value })
  expect({ names: names(found), count: found.count }).toEqual({ names: expected, count: expected.length })
})

test('a search finds a part of one field with any text around it, and nothing across two', async () => {
  const added = { agent_name: 'ΑΣΑ ΛΌΓΟΣ', description: 'one line\nand\r\nanother', parent_agent_type: 'T' }
  expect((await callApi(service, { token: otherToken, path: '/api/parent_agents', body: added })).status).toBe(200)
  for (const search_value of ['ας', 'ΑΣ', 'ΑΣΑ', 'λόγος', 'ΛΌΓΟΣ', 'λόγοσ', 'LINE\nand', '\n', 'and\r\nan']) {
    expect({ searchValue: search_value, names: names(await search({ search_value }, otherToken)) }).toEqual({
      searchValue: search_value,
      names: [added.agent_name],
    })
  }
  for (const search_value of ['ασα λόγος\nασα_λόγος', 'λόγος\none', 'à', 'À']) {
    expect({ searchValue: search_value, names: names(await search({ search_value }, otherToken)) }).toEqual({
      searchValue: search_value,
      names: [],
    })
  }
})

test('equals works on every allowed column', async () => {
  const [agent] = (await search({ search_value: 'Order Status' })).items
  const values: Record<string, unknown> = {
    active: true,
    agent_key: 'order_status',
    agent_name: 'Order Status',
    id: agent?.id,
    llm_model: agent?.llm_model,
    parent_agent_type_key: 'conversation_agent',
    tenant: 'demo',
  }
  for (const [column, value] of Object.entries(values)) {
    expect(names(await search({ filters: [equals(column, value)] }))).toContain('Order Status')
  }
  const all = Object.entries(values).map(([column, value]) => equals(column, value))
  expect(names(await search({ filters: all }))).toEqual(['Order Status'])
})

test('groups join with and or or, and the active filter joins in', async () => {
  const either = {
    operator: 'or',
    filters: [equals('agent_key', 'meeting_notes'), equals('agent_key', 'order_status')],
  }
  expect((await search({ filters: [either] })).count).toBe(2)
  expect(names(await search({ filters: [either], active: true }))).toEqual(['Order Status'])
  expect(names(await search({ filters: [either], active: false }))).toEqual(['Meeting Notes'])
  const both = { operator: 'and', filters: [either, equals('active', false)] }
  expect(names(await search({ filters: [both] }))).toEqual(['Meeting Notes'])
  expect((await search({ filters: [{ operator: 'or', filters: [] }] })).count).toBe(0)
})

const nested = (depth: number): object =>
  depth === 0 ? equals('id', 1) : { operator: 'and', filters: [nested(depth - 1)] }

test.each([
  ['__proto__', '{"filters":[{"column":"__proto__","operator":"equals","value":1}]}', ['filters', 0, 'column'], 'enum'],
  ['constructor', { filters: [equals('constructor', 1)] }, ['filters', 0, 'column'], 'enum'],
  ['toString', { filters: [equals('toString', 1)] }, ['filters', 0, 'column'], 'enum'],
  ['description', { filters: [equals('description', 'x')] }, ['filters', 0, 'column'], 'enum'],
  ['id;--', { sort: { column: 'id;--' } }, ['sort', 'column'], 'enum'],
  ['sort by created_at', { sort: { column: 'created_at' } }, ['sort', 'column'], 'enum'],
  ['sort without column', { sort: { desc: true } }, ['sort', 'column'], 'missing'],
  ['desc as text', { sort: { column: 'id', desc: 'true' } }, ['sort', 'desc'], 'boolean_type'],
  ['another operator', { filters: [{ column: 'id', operator: 'gt', value: 1 }] }, ['filters', 0, 'operator'], 'enum'],
  ['a missing value', { filters: [{ column: 'id', operator: 'equals' }] }, ['filters', 0, 'value'], 'missing'],
  ['text for an integer', { filters: [equals('id', '1')] }, ['filters', 0, 'value'], 'integer_type'],
  ['a number for text', { filters: [equals('agent_key', 1)] }, ['filters', 0, 'value'], 'string_type'],
  ['a number for a flag', { filters: [equals('active', 1)] }, ['filters', 0, 'value'], 'boolean_type'],
  ['an object', { filters: [equals('agent_key', {})] }, ['filters', 0, 'value'], 'string_type'],
  ['NUL', { filters: [equals('agent_key', 'a\0')] }, ['filters', 0, 'value'], 'string_unstorable'],
  ['not an object', { filters: ['id'] }, ['filters', 0], 'object_type'],
  ['a group without a list', { filters: [{ operator: 'and', filters: {} }] }, ['filters', 0, 'filters'], 'array_type'],
  [
    'a group with another operator',
    { filters: [{ operator: 'xor', filters: [] }] },
    ['filters', 0, 'operator'],
    'enum',
  ],
  ['four levels', { filters: [nested(3)] }, ['filters', 0, 'filters', 0, 'filters', 0, 'column'], 'missing'],
  ['51 filters', { filters: Array.from({ length: 51 }, () => equals('id', 1)) }, ['filters'], 'too_many'],
])('%s is 422', async (_, body, path, type) => {
  const [item, ...others] = await invalid(body)
  expect(item).toMatchObject({ loc: ['body', ...path], type })
  expect(others).toEqual([])
})

test('50 filters on three levels are taken, 1,000 nested groups are not', async () => {
  await search({ filters: Array.from({ length: 50 }, () => equals('tenant', 'demo')) })
  await search({ filters: [nested(2)] })
  const deep = `${'{"operator":"and","filters":['.repeat(1_000)}${']}'.repeat(1_000)}`
  expect((await invalid(`{"filters":[${deep}]}`))[0]).toMatchObject({ type: 'missing' })
})

test('models allow their own columns and no others', async () => {
  const path = '/api/llm_models/search'
  for (const column of ['id', 'model_name', 'model_version', 'provider']) {
    const answer = await callApi(service, { token, path, body: { sort: { column, desc: true } } })
    expect(answer.status).toBe(200)
  }
  expect((await invalid({ sort: { column: 'tenant' } }, path))[0]).toMatchObject({ loc: ['body', 'sort', 'column'] })
  expect((await invalid({ filters: [equals('tenant', 'demo')] }, path))[0]).toMatchObject({ type: 'enum' })
})

test.each(['active', 'agent_key', 'agent_name', 'id', 'llm_model', 'parent_agent_type_key', 'tenant'] as const)(
  'sorting by %s is stable: pages neither repeat nor skip',
  async (column) => {
    for (const desc of [false, true]) {
      const whole = await search({ sort: { column, desc } })
      const paged: Agent[] = []
      for (let offset = 0; offset < 12; offset += 5) {
        const page = await search({ limit: 5, offset, sort: { column, desc } })
        expect(page.count).toBe(12)
        paged.push(...page.items)
      }
      expect(paged.map(({ id }) => id)).toEqual(whole.items.map(({ id }) => id))
      expect(new Set(paged.map(({ id }) => id)).size).toBe(12)
    }
  },
)

test('descending turns the order round, equal keys stay in order of id', async () => {
  const keys = (await search({ sort: { column: 'agent_key' } })).items.map(({ agent_key }) => agent_key)
  expect(keys).toEqual([...keys].sort())
  const down = (await search({ sort: { column: 'agent_key', desc: true } })).items.map(({ agent_key }) => agent_key)
  expect(down).toEqual([...keys].sort().reverse())
  const { items } = await search({ sort: { column: 'active', desc: true } })
  const on = items.filter(({ active }) => active).map(({ id }) => id)
  expect(items.slice(0, on.length).every(({ active }) => active)).toBe(true)
  expect(on).toEqual([...on].sort((left, right) => left - right))
})

test('spec 4.2 the body of the authentication example is accepted, page and page_size change nothing', async () => {
  expect((await search({ filters: [], sort: [], page: 9, page_size: 1 })).items).toHaveLength(12)
  expect((await search({ search_value: null, filters: null, sort: null, active: null })).count).toBe(12)
  expect((await search({ search_value: '' })).count).toBe(12)
})

test.each([
  ['text', 'text/plain', '{}', 415],
  ['no type', undefined, '{}', 415],
  ['another charset', 'application/json; charset=utf-16', '{}', 415],
  ['257 KiB', 'application/json', ' '.repeat(257 * 1_024), 413],
  ['invalid UTF-8', 'application/json', new Uint8Array([0x7b, 0xff, 0x7d]), 422],
  ['a byte order mark', 'application/json', '\ufeff{}', 422],
  ['broken JSON', 'application/json', '{', 422],
  ['nothing', 'application/json', '', 422],
  ['an array', 'application/json', '[]', 422],
  ['null', 'application/json', 'null', 422],
  [
    'depth 1,000 in a member that is ignored',
    'application/json',
    `{"x":${'['.repeat(1_000)}${']'.repeat(1_000)}}`,
    200,
  ],
  ['256 KiB', 'application/json', `{}${' '.repeat(256 * 1_024 - 2)}`, 200],
])('a body of %s (%s)', async (_, type, body, status) => {
  const headers = { authorization: `Bearer ${token}`, ...(type === undefined ? {} : { 'content-type': type }) }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const answer = await service.fetch(service.baseUrl + agentSearch, { method: 'POST', headers, body: bytes })
  expect(answer.status).toBe(status)
})
