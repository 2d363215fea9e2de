import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '../src/index.ts'
import type { Assembly } from '../src/server/create-service.ts'
import { rawDatabase } from '../src/store/database.ts'
import { databaseAims, injectionCorpus, isUnstorable } from './injection-corpus.ts'
import { agentSearch, callApi } from './login.ts'
import { assemble, isOnPostgres } from './start.ts'
import { observe } from './statements.ts'

interface Agent {
  id: number
  agent_key: string
  agent_name: string
  display_name: string
  description: string
}
interface Found {
  items: Agent[]
  count: number
}

// On PostgreSQL those that aim at a database: 500 strings on libSQL have seen our own code.
const corpus = isOnPostgres() ? databaseAims() : injectionCorpus()
const modelSearch = '/api/llm_models/search'

let assembly: Assembly
let service: Service
let token: string
let otherToken: string
let before: string
let demoAgents: Agent[]
const sql = new Set<string>()

beforeAll(async () => {
  assembly = await assemble({})
  service = assembly.service
  token = await service.dev.mintSessionToken('ada@demo.example')
  otherToken = await service.dev.mintSessionToken('ola@other.example')
  observe(assembly, { before: (statement) => void sql.add(statement.sql) })
  demoAgents = (await found(agentSearch, { limit: 250 })).items
  before = await everything()
})

afterAll(() => service.close())

/** All that ada can see, and who and what there is besides. */
async function everything(): Promise<string> {
  const db = rawDatabase(assembly.context.store.db)
  const tables = ['tenants', 'people', 'clients', 'client_approvals', 'client_redirect_uris', 'service_keys'] as const
  const rows = await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()))
  const seen = [await found(agentSearch, { limit: 250 }), await found(modelSearch, { limit: 250 })]
  return JSON.stringify([rows, seen])
}

async function call(path: string, body?: unknown, bearer = token): Promise<{ status: number; text: string }> {
  const answer = await callApi(service, { token: bearer, path, body })
  const text = await answer.text()
  expect([200, 404, 422], text).toContain(answer.status)
  return { status: answer.status, text }
}

async function found(path: string, body: unknown): Promise<Found> {
  const { status, text } = await call(path, body)
  expect(status, text).toBe(200)
  return (JSON.parse(text) as { data: Found }).data
}

async function faultsOf(path: string, body: unknown, bearer = token): Promise<string[]> {
  const { status, text } = await call(path, body, bearer)
  expect(status, `${JSON.stringify(body)} ${text}`).toBe(422)
  return (JSON.parse(text) as { detail: { loc: (string | number)[] }[] }).detail.map(({ loc }) => loc.join('.'))
}

const equals = (column: string, value: string) => ({ column, operator: 'equals', value })

test(`as a value of a text column ${corpus.length} strings equal exactly what is equal to them [P-21 S-071]`, async () => {
  const columns = ['agent_key', 'agent_name', 'parent_agent_type_key', 'tenant']
  const modelColumns = ['model_name', 'model_version', 'provider']
  for (const text of corpus) {
    const filters = (names: string[]) => [{ operator: 'or', filters: names.map((name) => equals(name, text)) }]
    if (isUnstorable(text)) {
      expect(await faultsOf(agentSearch, { filters: filters(columns) })).toHaveLength(columns.length)
      expect(await faultsOf(modelSearch, { filters: filters(modelColumns), provider: text })).toHaveLength(4)
    } else {
      // No demo agent or model is called so.
      expect(await found(agentSearch, { filters: filters(columns) })).toEqual({ items: [], count: 0 })
      expect(await found(modelSearch, { filters: filters(modelColumns) })).toEqual({ items: [], count: 0 })
      expect(await found(modelSearch, { provider: text })).toEqual({ items: [], count: 0 })
    }
  }
})

test(`as search_value ${corpus.length} strings find exactly the rows that hold them [P-21 S-069 S-071]`, async () => {
  for (const text of corpus) {
    if (isUnstorable(text) || [...text].length > 256) {
      expect(new Set(await faultsOf(agentSearch, { search_value: text }))).toEqual(new Set(['body.search_value']))
      continue
    }
    const wanted = demoAgents.filter(({ agent_name, agent_key, display_name, description }) =>
      [agent_name, agent_key, display_name, description].some((field) =>
        field.toLowerCase().includes(text.toLowerCase()),
      ),
    )
    expect(await found(agentSearch, { search_value: text, limit: 250 }), text).toEqual({
      items: wanted,
      count: wanted.length,
    })
  }
})

test(`as a name, an operator or a value of another type ${corpus.length} strings are 422, each by itself [P-21 S-070 S-071]`, async () => {
  for (const text of corpus) {
    const faults = await faultsOf(agentSearch, {
      limit: text,
      offset: text,
      active: text,
      filters: [
        equals(text, 'x'),
        { column: 'id', operator: text, value: 1 },
        { operator: text, filters: [] },
        ...['id', 'llm_model', 'active'].map((column) => equals(column, text)),
        text,
      ],
      sort: [{ column: text }, { column: 'id', desc: text }, text],
    })
    expect(faults.sort()).toEqual(
      [
        ...['limit', 'offset', 'active', 'filters.0.column', 'filters.1.operator', 'filters.2.operator'],
        ...['filters.3.value', 'filters.4.value', 'filters.5.value', 'filters.6'],
        ...['sort.0.column', 'sort.1.desc', 'sort.2'],
      ]
        .map((place) => `body.${place}`)
        .sort(),
    )
  }
})

test(`${corpus.length} strings are created as they are or refused, and touch nothing else [P-21 S-071 S-074]`, async () => {
  let created = 0
  for (const [index, text] of corpus.entries()) {
    const body = { agent_name: `${text} ${index}`, description: text, parent_agent_type: `T${text}`, tenant: text }
    const { status, text: answer } = await call('/api/parent_agents', body, otherToken)
    if (isUnstorable(text)) expect(status, text).toBe(422)
    if (status === 422) {
      for (const { loc } of (JSON.parse(answer) as { detail: { loc: string[] }[] }).detail)
        expect(['agent_name', 'description', 'parent_agent_type']).toContain(loc[1])
      continue
    }
    created += 1
    const { items } = (JSON.parse(answer) as { data: { items: (Agent & { tenant: string })[] } }).data
    expect(items).toMatchObject([{ agent_name: body.agent_name, description: text, tenant: 'other' }])
    const path = `/api/parent_agents/${items[0]?.id}/state_function/context_variables`
    expect((await call(path, undefined, otherToken)).status).toBe(200)
  }
  expect(created).toBeGreaterThan(0.6 * corpus.length)
  const db = rawDatabase(assembly.context.store.db)
  const count = async (table: 'parent_agents' | 'context_groups') =>
    (await db.selectFrom(table).select('id').where('tenant_id', '=', 'other').execute()).length
  expect(await count('parent_agents')).toBe(12 + created)
  expect(await count('context_groups')).toBeGreaterThanOrEqual(created)
})

test(`as an id in the path and as a bearer token ${corpus.length} strings find nothing [P-21 S-071]`, async () => {
  for (const text of corpus) {
    const id = encodeURIComponent(text.replace(/\p{Cs}/gu, '\ufffd'))
    // A dot segment leads to another path, which is not there; a number may be an agent's.
    const { status } = await call(`/api/parent_agents/${id}/state_function/context_variables`)
    expect([404, 422], text).toContain(status)
    const token = text.replace(/[^\x20-\x7e]/g, '').trim()
    const answer = await callApi(service, { token, path: agentSearch, body: {} })
    expect(answer.status, text).toBe(401)
  }
})

test('after all of it nothing is changed, and no text of a statement holds what was sent [P-21 S-071]', async () => {
  expect((await everything()) === before).toBe(true)
  expect(sql.size).toBeGreaterThan(10)
  const telling = corpus.filter((text) => text.length > 4 && !/^\w*$/.test(text))
  for (const statement of sql) for (const text of telling) expect(statement.includes(text)).toBe(false)
  // Names of members that a statement spells out come from lists of ours, so their number does not grow with what is sent.
  expect(sql.size).toBeLessThan(60)
})
