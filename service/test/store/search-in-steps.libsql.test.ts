// Also tests service/src/store/tables/tenant/agents-with-trigrams.ts, service/src/store/tables/tenant/candidates.ts,
// service/src/store/tables/tenant/indexed-filters.ts, service/src/store/tables/tenant/parent-agents.ts,
// service/src/store/tables/tenant/search-order.ts.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Assembly } from '../../src/server/create-service.ts'
import { assemble } from '../../src/server/create-service.ts'
import type { RawDatabase } from '../../src/store/database.ts'
import { rawDatabase } from '../../src/store/database.ts'
import type { Filter, Search } from '../../src/store/tables/tenant/checked-search.ts'
import type { NewParentAgent, ParentAgentColumn } from '../../src/store/tables/tenant/parent-agents.ts'
import { parentAgentsOf } from '../../src/store/tables/tenant/parent-agents.ts'
import { searchTenant } from '../../src/store/tables/tenant/run-search.ts'
import { searchInSteps } from '../../src/store/tables/tenant/search-in-steps.ts'
import { createRandom } from '../support/random.ts'
import { observe } from '../support/statements.ts'

// A search of libSQL reads in steps, and gives what one query gives.

type AgentSearch = Search<ParentAgentColumn>

let assembly: Assembly
let db: RawDatabase
/** `query` or `pause`, in their order. */
const log: string[] = []
/** The first and the last id between which a query read texts. */
let textRanges: [number, number][] = []

beforeAll(async () => {
  assembly = await assemble({})
  db = rawDatabase(assembly.context.store.db)
  await addAgents(0, 300)
  observe(assembly, {
    after({ sql, parameters }) {
      if (!sql.includes('parent_agents')) return
      log.push('query')
      if (sql.includes('search_text')) textRanges.push([Number(parameters[1]), Number(parameters[2])])
    },
  })
})
afterAll(() => assembly.service.close())
beforeEach(() => {
  log.length = 0
  textRanges = []
})

async function addAgents(from: number, count: number): Promise<void> {
  const models = await db.selectFrom('llm_models').select('id').where('tenant_id', '=', 'demo').execute()
  const agents = Array.from({ length: count }, (_, index): NewParentAgent => {
    const number = from + index
    const name = `${['b', 'a', 'C', '\u{1d160}'][number % 4]} ${(number * 7_919) % 1_009}`
    return {
      parent_agent_type: 'x',
      parent_agent_type_key: `type ${number % 3}`,
      agent_key: `key ${name}`,
      agent_name: name,
      full_display_name: name,
      display_name: name,
      description: number % 5 === 0 ? 'long text' : 'text',
      configs: '{}',
      llm_model: models[number % models.length]?.id ?? 0,
      active: number % 2 === 0 ? 1 : 0,
      state_function: '[]',
      created_ms: 0,
    }
  })
  await parentAgentsOf(db, 'demo').createAll(agents)
}

const everything: AgentSearch = {
  limit: 250,
  offset: 0,
  searchValue: undefined,
  filter: { kind: 'all', filters: [] },
  sort: [],
}

function searchDemo(search: Partial<AgentSearch>): ReturnType<ReturnType<typeof parentAgentsOf>['search']> {
  return parentAgentsOf(db, 'demo').search({ ...everything, ...search }, async () => void log.push('pause'))
}

const equals = (column: ParentAgentColumn, value: string | number): Filter<ParentAgentColumn> => {
  return { kind: 'equals', column, value }
}

test.each<[string, Partial<AgentSearch>, number]>([
  ['a text', { searchValue: 'text' }, 300],
  ['a text and two sort columns', { searchValue: 'long text', sort: sorted('active', 'agent_name') }, 60],
  ['either of two filters', { filter: { kind: 'any', filters: [equals('active', 1), equals('llm_model', 1)] } }, 156],
  ['three sort columns', { sort: sorted('active', 'parent_agent_type_key', 'agent_name') }, 300],
  [
    'a filter and another sort column',
    { filter: equals('parent_agent_type_key', 'type 1'), sort: sorted('agent_name') },
    100,
  ],
])('a search by %s pauses between any two of its queries', async (_by, search, least) => {
  expect((await searchDemo(search)).count).toBeGreaterThanOrEqual(least)
  expect(log.filter((entry) => entry === 'query').length).toBeGreaterThan(2)
  expect(log.filter((entry, index) => entry === 'query' && log[index + 1] === 'query')).toEqual([])
})

function sorted(...columns: ParentAgentColumn[]): AgentSearch['sort'] {
  return columns.map((column) => ({ column, direction: 'asc' }))
}

test('one query reads the texts of at most 64 agents, and all queries together those of each agent once', async () => {
  await searchDemo({ searchValue: 'zz' })
  const rows = await db.selectFrom('parent_agents').select('id').where('tenant_id', '=', 'demo').execute()
  const ids = rows.map(({ id }) => id)
  const read = textRanges.map(([first, last]) => ids.filter((id) => id >= first && id <= last))
  expect(Math.max(...read.map((part) => part.length))).toBe(64)
  expect(read.flat().sort((left, right) => left - right)).toEqual(ids.sort((left, right) => left - right))
})

test('of a text with trigrams, only the texts of agents that have them are read', async () => {
  expect({ count: (await searchDemo({ searchValue: 'no such text' })).count, textRanges }).toEqual({
    count: 0,
    textRanges: [],
  })
  const found = await searchDemo({ searchValue: 'G TeX', sort: sorted('agent_name') })
  expect({ count: found.count, textRanges: textRanges.length }).toEqual({ count: 60, textRanges: 1 })
})

test('a filter that an index answers narrows the texts that are read', async () => {
  const key = equals('agent_key', 'key b 0')
  // The API puts the filters of a body into a group of a group.
  const group = (filter: typeof key): typeof key => ({ kind: 'all', filters: [{ kind: 'all', filters: [filter] }] })
  for (const filter of [key, group(key), group({ kind: 'any', filters: [key, equals('agent_key', 'x')] })]) {
    textRanges = []
    const found = await searchDemo({ searchValue: 'te', filter })
    expect({ count: found.count, textRangesCount: textRanges.length }).toEqual({ count: 1, textRangesCount: 1 })
  }
})

test('either of two filters that indexes answer narrows what is read, and few hits are sorted by one query', async () => {
  const filter: Filter<ParentAgentColumn> = {
    kind: 'any',
    filters: [equals('agent_key', 'key b 0'), equals('agent_name', 'a 7919'), equals('agent_key', 'key b 0')],
  }
  const found = await searchDemo({ filter, sort: sorted('parent_agent_type_key', 'agent_name') })
  expect({ count: found.count, log }).toEqual({
    count: 1,
    log: ['query', 'pause', 'query', 'pause', 'pause', 'query', 'pause'],
  })
  log.length = 0
  const three = await searchDemo({
    filter: { kind: 'any', filters: [1, 2, 3].map((id) => equals('id', id)) },
    sort: sorted('active', 'agent_name'),
  })
  expect({ count: three.count, queries: log.filter((entry) => entry === 'query').length }).toEqual({
    count: 3,
    queries: 4,
  })
})

test.each<[string, Partial<AgentSearch>]>([
  ['no condition', {}],
  ['one sort column', { sort: sorted('agent_name') }],
  ['one filter', { filter: equals('parent_agent_type_key', 'type 1') }],
  ['active agents by name', { filter: equals('active', 1), sort: sorted('agent_name') }],
])('a search by %s reads count and page from an index, in one transaction', async (_by, search) => {
  expect((await searchDemo({ ...search, limit: 20 })).rows).toHaveLength(20)
  expect(log).toEqual(['query', 'query', 'pause', 'query', 'pause'])
})

test('agents that are created during a search are not counted', async () => {
  const before = await searchDemo({ searchValue: 'text' })
  let added = 0
  const during = await parentAgentsOf(db, 'demo').search(
    { ...everything, searchValue: 'text', sort: sorted('active', 'agent_name') },
    async () => addAgents(1_000 + added++, 1),
  )
  expect(added).toBeGreaterThan(5)
  expect(during.count).toBe(before.count)
  expect((await searchDemo({ searchValue: 'text' })).count).toBe(before.count + added)
})

const columns = ['active', 'agent_key', 'agent_name', 'id', 'llm_model', 'parent_agent_type_key', 'tenant'] as const

test('searches in steps find the same page and count as one query', async () => {
  const random = createRandom(1)
  const values = { active: [0, 1], llm_model: [1, 2, 3], id: [1, 50, 9_999], tenant: ['demo', 'other'] }
  const texts = { agent_key: ['key b 0', 'x'], agent_name: ['b 0', 'a 7'], parent_agent_type_key: ['type 1', 'x'] }
  function anyFilter(depth: number): Filter<ParentAgentColumn> {
    const column = random.pick(columns)
    if (depth === 3 || random.chance(0.5))
      return equals(column, random.pick<string | number>({ ...values, ...texts }[column]))
    const filters = Array.from({ length: random.below(4) }, () => anyFilter(depth + 1))
    return { kind: random.pick(['all', 'any']), filters }
  }
  const counts = new Set<number>()
  for (let round = 0; round < 150; round += 1) {
    const search: AgentSearch = {
      limit: 1 + random.below(250),
      offset: random.pick([0, 0, 3, 100, 400]),
      searchValue: random.pick([undefined, 'a', 'LONG', '\u{1d160}', 'none of them']),
      filter: random.chance(0.3) ? everything.filter : anyFilter(1),
      sort: Array.from({ length: random.below(4) }, () => {
        return { column: random.pick(columns), direction: random.pick(['asc', 'desc'] as const) }
      }),
    }
    const inSteps = await searchInSteps(db, { tenantId: 'demo', search, pause: async () => {} })
    counts.add(inSteps.count)
    expect(inSteps, JSON.stringify(search)).toEqual(
      await searchTenant(db, { table: 'parent_agents', tenantId: 'demo', search }),
    )
  }
  expect(counts.size).toBeGreaterThan(10)
})
