// @module-tag database

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { injectionCorpus as corpus, isUnstorable } from '../support/injection-corpus.ts'
import { agentSearch, callApi } from '../support/login.ts'
import { assemble, isOnPostgres } from '../support/start.ts'
import { observe } from '../support/statements.ts'

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

const modelSearch = '/api/llm_models/search'

let assembly: Assembly
let service: Service
let token: string
let otherToken: string
let before: string
let demoAgents: Agent[]
let demoModels: { id: number }[]
const sql = new Set<string>()

beforeAll(async () => {
  assembly = await assemble({})
  service = assembly.service
  token = await service.dev.mintSessionToken('ada@demo.example')
  otherToken = await service.dev.mintSessionToken('ola@other.example')
  observe(assembly, { before: (statement) => void sql.add(statement.sql) })
  demoAgents = (await found(agentSearch, { limit: 250 })).items
  demoModels = (await found(modelSearch, { limit: 250 })).items
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

/** Without `expect` for an answer that is right: thousands of those cost as much as the answers. */
function requireStatus(allowed: number[], status: number, ...about: unknown[]): void {
  if (!allowed.includes(status)) expect.fail(`${status} instead of ${allowed.join(' or ')}: ${JSON.stringify(about)}`)
}

async function call(path: string, body?: unknown, bearer = token): Promise<{ status: number; text: string }> {
  const answer = await callApi(service, { token: bearer, path, body })
  const text = await answer.text()
  requireStatus([200, 404, 422], answer.status, text)
  return { status: answer.status, text }
}

async function found(path: string, body: unknown): Promise<Found> {
  const { status, text } = await call(path, body)
  requireStatus([200], status, body, text)
  return (JSON.parse(text) as { data: Found }).data
}

async function faultsOf(path: string, body: unknown, bearer = token): Promise<string[]> {
  const { status, text } = await call(path, body, bearer)
  requireStatus([422], status, body, text)
  return (JSON.parse(text) as { detail: { loc: (string | number)[] }[] }).detail.map(({ loc }) => loc.join('.'))
}

const equals = (column: string, value: string) => ({ column, operator: 'equals', value })

/** As many texts at once as a search takes filters. On PostgreSQL each by itself, because filters choose how it searches there. */
function groups(texts: string[], columns: number): string[][] {
  const size = isOnPostgres() ? 1 : Math.floor(48 / columns)
  return texts.flatMap((_, index) => (index % size === 0 ? [texts.slice(index, index + size)] : []))
}

test(`as a value of a text column ${corpus.length} strings equal exactly what is equal to them`, async () => {
  const [storable, unstorable] = [corpus.filter((text) => !isUnstorable(text)), corpus.filter(isUnstorable)]
  for (const [path, columns, [known]] of [
    [agentSearch, ['agent_key', 'agent_name', 'parent_agent_type_key', 'tenant'], demoAgents],
    [modelSearch, ['model_name', 'model_version', 'provider'], demoModels],
  ] as const) {
    const filtersOf = (texts: string[]) => texts.flatMap((text) => columns.map((name) => equals(name, text)))
    for (const texts of groups(storable, columns.length)) {
      // No demo agent or model is called so. The last filter shows that the search came to its end.
      const filters = [...filtersOf(texts), { column: 'id', operator: 'equals', value: known?.id }]
      const answer = await found(path, { filters: [{ operator: 'or', filters }] })
      expect(answer, JSON.stringify(texts)).toEqual({ items: [known], count: 1 })
    }
    for (const texts of groups(unstorable, columns.length)) {
      const filters = filtersOf(texts)
      expect(await faultsOf(path, { filters: [{ operator: 'or', filters }] })).toEqual(
        filters.map((_, index) => `body.filters.0.filters.${index}.value`),
      )
    }
  }
  for (const text of unstorable) expect(await faultsOf(modelSearch, { provider: text })).toEqual(['body.provider'])
  const none = JSON.stringify({ items: [], count: 0 })
  const different: string[] = []
  for (const text of storable) {
    if (JSON.stringify(await found(modelSearch, { provider: text })) !== none) different.push(text)
  }
  expect(different).toEqual([])
})

test(`as search_value ${corpus.length} strings find exactly the rows that hold them`, async () => {
  const texts = demoAgents.map(({ agent_name, agent_key, display_name, description }) =>
    [agent_name, agent_key, display_name, description].map((field) => field.toLowerCase()),
  )
  const different: string[] = []
  for (const text of corpus) {
    if (isUnstorable(text) || [...text].length > 256) {
      expect(new Set(await faultsOf(agentSearch, { search_value: text }))).toEqual(new Set(['body.search_value']))
      continue
    }
    const lower = text.toLowerCase()
    const items = demoAgents.filter((_, index) => texts[index]?.some((field) => field.includes(lower)))
    // Both were read from the same members in the same order.
    const answer = await found(agentSearch, { search_value: text, limit: 250 })
    if (JSON.stringify(answer) !== JSON.stringify({ items, count: items.length })) different.push(text)
  }
  expect(different).toEqual([])
})

test(`${corpus.length} strings are created as they are or refused, and touch nothing else`, async () => {
  let created = 0
  for (const [index, text] of corpus.entries()) {
    const body = { agent_name: `${text} ${index}`, description: text, parent_agent_type: `T${text}`, tenant: text }
    const { status, text: answer } = await call('/api/parent_agents', body, otherToken)
    if (isUnstorable(text)) requireStatus([422], status, text)
    if (status === 422) {
      for (const { loc } of (JSON.parse(answer) as { detail: { loc: string[] }[] }).detail)
        expect(['agent_name', 'description', 'parent_agent_type']).toContain(loc[1])
      continue
    }
    created += 1
    const { items } = (JSON.parse(answer) as { data: { items: (Agent & { tenant: string })[] } }).data
    const [item] = items
    const kept = item?.agent_name === body.agent_name && item.description === text && item.tenant === 'other'
    if (items.length !== 1 || !kept) expect(items).toEqual([{ ...body, tenant: 'other' }])
    const path = `/api/parent_agents/${item?.id}/state_function/context_variables`
    requireStatus([200], (await call(path, undefined, otherToken)).status, text)
  }
  expect(created).toBeGreaterThan(0.6 * corpus.length)
  const db = rawDatabase(assembly.context.store.db)
  const count = async (table: 'parent_agents' | 'context_groups') =>
    (await db.selectFrom(table).select('id').where('tenant_id', '=', 'other').execute()).length
  expect(await count('parent_agents')).toBe(12 + created)
  expect(await count('context_groups')).toBeGreaterThanOrEqual(created)
})

test(`as an id in the path and as a bearer token ${corpus.length} strings find nothing`, async () => {
  for (const text of corpus) {
    const id = encodeURIComponent(text.replace(/\p{Cs}/gu, '\ufffd'))
    // A dot segment leads to another path, which is not there; a number may be an agent's.
    const { status } = await call(`/api/parent_agents/${id}/state_function/context_variables`)
    requireStatus([404, 422], status, text)
    const token = text.replace(/[^\x20-\x7e]/g, '').trim()
    const answer = await callApi(service, { token, path: agentSearch, body: {} })
    requireStatus([401], answer.status, text)
  }
})

test('after all of it nothing is changed, and no text of a statement holds what was sent', async () => {
  expect((await everything()) === before).toBe(true)
  expect(sql.size).toBeGreaterThan(10)
  const telling = corpus.filter((text) => text.length > 4 && !/^\w*$/.test(text))
  expect([...sql].filter((statement) => telling.some((text) => statement.includes(text)))).toEqual([])
  // Names of members that a statement spells out come from lists of ours, so their number does not grow with what is sent.
  expect(sql.size).toBeLessThan(60)
})
