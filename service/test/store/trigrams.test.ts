// @module-tag database

// Also tests service/src/store/engine/engine.ts, service/src/store/engine/libsql-trigrams.ts,
// service/src/store/engine/postgres-trigrams.ts, service/src/store/index-agents.ts,
// service/src/store/tables/tenant/agents-with-trigrams.ts, service/src/store/tables/tenant/candidates.ts,
// service/src/store/tables/tenant/checked-search.ts, service/src/store/tenant-store.ts.
import type { KyselyPlugin } from 'kysely'
import { ValuesNode } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Assembly } from '../../src/server/create-service.ts'
import type { RawDatabase } from '../../src/store/database.ts'
import { opaqueDatabase, rawDatabase } from '../../src/store/database.ts'
import { queryTraitsOf } from '../../src/store/engine/engine.ts'
import { indexAgents } from '../../src/store/index-agents.ts'
import { candidates, fewCandidates } from '../../src/store/tables/tenant/candidates.ts'
import type { Filter, Search } from '../../src/store/tables/tenant/checked-search.ts'
import { foldCase, searchTextOf } from '../../src/store/tables/tenant/checked-search.ts'
import type { NewParentAgent, ParentAgentColumn } from '../../src/store/tables/tenant/parent-agents.ts'
import { parentAgentsOf } from '../../src/store/tables/tenant/parent-agents.ts'
import { searchTenant } from '../../src/store/tables/tenant/run-search.ts'
import { trigramsOf, trigramsOfSearchValue } from '../../src/store/tables/tenant/trigrams.ts'
import { tenantStore } from '../../src/store/tenant-store.ts'
import { createRandom, type Random } from '../support/random.ts'
import { agentOf, textOf } from '../support/random-agents.ts'
import { assemble, isOnPostgres } from '../support/start.ts'
import { observe } from '../support/statements.ts'
import { removeStatementTimeout } from '../support/untimed.ts'

// A search by the index of trigrams gives what a search without an index gives.

type AgentSearch = Search<ParentAgentColumn>
const tenants = ['demo', 'other', 'third']

let assembly: Assembly
let db: RawDatabase
let random: Random
let models: Map<string, number>

beforeAll(async () => {
  assembly = await assemble({})
  db = rawDatabase(assembly.context.store.db)
  random = createRandom(94)
  await db.insertInto('tenants').values({ id: 'third', name: 'T', active: 1, billing_active: 1 }).execute()
  await tenantStore(assembly.context.store.db, 'third').models.createAll([
    { model_name: 'M', model_version: '1', provider: 'p' },
  ])
  models = new Map(
    await Promise.all(
      tenants.map(async (id) => [id, await tenantStore(assembly.context.store.db, id).models.firstId()] as const),
    ),
  )
  for (let part = 0; part < 12; part += 1) {
    const tenant = random.pick(tenants)
    await parentAgentsOf(db, tenant).createAll(Array.from({ length: 25 }, (_, at) => agentIn(tenant, `${part}-${at}`)))
    await addAsEarlierVersion(random.pick(tenants), `old ${part}`)
  }
})
afterAll(() => assembly.service.close())

function agentIn(tenant: string, agent_key: string, text?: string): NewParentAgent {
  const own = { agent_key, llm_model: models.get(tenant) ?? 0 }
  return agentOf(random, text === undefined ? own : { ...own, description: text })
}

/** A running service of an earlier version knows no trigrams. */
async function addAsEarlierVersion(tenant: string, key: string, description?: string): Promise<void> {
  const agent = agentIn(tenant, key, description)
  const search_text = searchTextOf([agent.agent_name, agent.agent_key, agent.display_name, agent.description])
  await db
    .insertInto('parent_agents')
    .values({ ...agent, tenant_id: tenant, name_as_sent: null, search_text })
    .execute()
}

const everything: Filter<ParentAgentColumn> = { kind: 'all', filters: [] }
const searchFor = (searchValue: string): AgentSearch => {
  return { limit: 250, offset: 0, searchValue, filter: everything, sort: [] }
}

async function idsOfEarlierVersions(tenantId: string): Promise<number[]> {
  const rows = await db
    .selectFrom('parent_agents')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('has_trigrams', '=', 0)
    .execute()
  return rows.map(({ id }) => id)
}

/** The ids that the index of this database leaves of all agents of a tenant. */
function leftByIndex(tenantId: string, text: string): Promise<number[] | undefined> {
  const search = searchFor(text)
  if (isOnPostgres()) return fewCandidates(db, { tenantId, search })
  return candidates(db, { tenantId, search, pause: async () => {} }).then(({ ids }) => ids)
}

function anyFilter(): Filter<ParentAgentColumn> {
  const one: Filter<ParentAgentColumn>[] = [
    { kind: 'equals', column: 'active', value: random.below(2) },
    { kind: 'equals', column: 'parent_agent_type_key', value: `type ${random.below(3)}` },
    { kind: 'equals', column: 'agent_key', value: '3-7' },
  ]
  return { kind: random.pick(['all', 'any'] as const), filters: [random.pick(one), random.pick(one)] }
}

async function compareRandomSearches(rounds: number): Promise<Set<number>> {
  const counts = new Set<number>()
  const sortColumns: ParentAgentColumn[] = ['agent_name', 'active', 'parent_agent_type_key', 'id']
  for (let round = 0; round < rounds; round += 1) {
    const tenantId = random.pick(tenants)
    const search: AgentSearch = {
      limit: 1 + random.below(40),
      offset: random.pick([0, 0, 5, 60]),
      searchValue: textOf(random, random.pick([1, 2, 3, 4, 90])),
      filter: random.chance(0.5) ? everything : anyFilter(),
      sort: Array.from({ length: random.below(3) }, () => {
        return { column: random.pick(sortColumns), direction: random.pick(['asc', 'desc'] as const) }
      }),
    }
    const found = await parentAgentsOf(db, tenantId).search(search, async () => {})
    const read = await searchTenant(db, { table: 'parent_agents', tenantId, search })
    expect({ ids: found.rows.map(({ id }) => id), count: found.count }, JSON.stringify({ tenantId, search })).toEqual({
      ids: read.rows,
      count: read.count,
    })
    counts.add(found.count)
  }
  return counts
}

test('searches by the index find the same page and count as searches that read every text', async () => {
  expect((await compareRandomSearches(isOnPostgres() ? 120 : 250)).size).toBeGreaterThan(10)
})

test('a part of any text is found among the agents that the index leaves', async () => {
  for (const { id, tenant_id, search_text } of await db.selectFrom('parent_agents').selectAll().execute()) {
    const field = [...random.pick(search_text.split('\n'))]
    const from = random.below(field.length)
    const part = field.slice(from, from + 3 + random.below(250)).join('')
    // A mark that began a part may join the letter before it.
    if ([...part].length >= 3 && search_text.includes(foldCase(part)))
      expect(await leftByIndex(tenant_id, part)).toContain(id)
  }
})

test('the index leaves no agent of another tenant, even if all of them have the text', async () => {
  const text = 'every agent of one tenant says this'
  await parentAgentsOf(db, 'other').createAll(
    Array.from({ length: 80 }, (_, at) => agentIn('other', `says ${at}`, text)),
  )
  expect(await leftByIndex('other', text)).toHaveLength(80 + (await idsOfEarlierVersions('other')).length)
  expect(new Set(await leftByIndex('demo', text))).toEqual(new Set(await idsOfEarlierVersions('demo')))
})

test('trigrams of two tenants differ, and a long text is compared by at most 16 of its trigrams', () => {
  const [one, two] = tenants.map((tenant) => new Set(trigramsOf(tenant, 'the same text')))
  expect([...(one ?? [])].filter((trigram) => two?.has(trigram))).toEqual([])
  const part = Array.from({ length: 256 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join('')
  expect(trigramsOfSearchValue('demo', part).length).toBeLessThanOrEqual(16)
  expect(trigramsOfSearchValue('demo', 'ab')).toEqual([])
  expect(trigramsOfSearchValue('demo', '😀😀')).toEqual([])
  expect(trigramsOf('demo', 'ab\ncd')).toEqual([])
  expect(Math.max(...trigramsOf('demo', part))).toBeLessThan(Number.MAX_SAFE_INTEGER)
})

test('an agent whose creation is rolled back leaves nothing in the index', async () => {
  const text = 'rolled back with its agent'
  const failing = tenantStore(opaqueDatabase(db), 'demo').transact(async ({ agents }) => {
    await agents.createAll([agentIn('demo', 'rolled back', text)])
    throw new TypeError('stop')
  })
  await expect(failing).rejects.toThrow(TypeError)
  await indexAgents(assembly.context.store.db)
  expect(await leftByIndex('demo', text)).toEqual([])
})

test('agents of an earlier version are found at once, and the next start adds them to the index', async () => {
  const text = 'written by an earlier version'
  await addAsEarlierVersion('demo', 'earlier', text)
  expect((await parentAgentsOf(db, 'demo').search(searchFor('BY AN EARLIER'))).count).toBe(1)
  await indexAgents(assembly.context.store.db)
  expect(await db.selectFrom('parent_agents').select('id').where('has_trigrams', '=', 0).execute()).toEqual([])
  expect(await leftByIndex('demo', text)).toHaveLength(1)
  expect((await compareRandomSearches(20)).size).toBeGreaterThan(2)
})

/** Notes how many agents each statement adds to the index. */
function notingAgentsAdded(added: number[]): KyselyPlugin {
  return {
    transformQuery({ node }) {
      if (node.kind === 'InsertQueryNode' && JSON.stringify(node.into).includes('agent_trigrams'))
        added.push(node.values && ValuesNode.is(node.values) ? node.values.values.length : 0)
      return node
    },
    transformResult: async ({ result }) => result,
  }
}

test('a start adds 64 agents of an earlier version in each transaction, which other processes wait for', async () => {
  for (let at = 0; at < 70; at += 1) await addAsEarlierVersion('demo', `many ${at}`)
  const added: number[] = []
  await indexAgents(opaqueDatabase(db.withPlugin(notingAgentsAdded(added))))
  expect(added).toEqual([64, 6])
})

test('a start that waits too long for the lock of another process begins again, and reports the fourth time', async () => {
  await addAsEarlierVersion('demo', 'locked')
  let timeouts = 3
  observe(assembly, {
    before({ sql }) {
      if (timeouts <= 0 || !/^update "parent_agents" set "has_trigrams"/.test(sql)) return
      timeouts -= 1
      throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
    },
  })
  await indexAgents(assembly.context.store.db)
  expect({ timeouts, left: await idsOfEarlierVersions('demo') }).toEqual({ timeouts: 0, left: [] })
  await addAsEarlierVersion('demo', 'locked for long')
  timeouts = 4
  await expect(indexAgents(assembly.context.store.db)).rejects.toMatchObject({ code: '55P03' })
  expect(await idsOfEarlierVersions('demo')).toHaveLength(1)
  await indexAgents(assembly.context.store.db)
})

test('on PostgreSQL a statement adds at most 100,000 trigrams and those of one more agent, so that it ends within its time', async () => {
  const added: number[] = []
  const agents = [1, 2, 3, 4, 5].map((id) => ({
    id: 2 ** 40 + id,
    trigrams: Array.from({ length: 40_000 }, (_, at) => at),
  }))
  const adding = db.transaction().execute(async (tx) => {
    await removeStatementTimeout(tx)
    const { trigrams } = queryTraitsOf(tx)
    await trigrams.add(tx.withPlugin(notingAgentsAdded(added)), agents)
    throw new TypeError('stop')
  })
  await expect(adding).rejects.toThrow(TypeError)
  expect(added).toEqual(isOnPostgres() ? [3, 2] : [5])
})

test('a reset empties the index, and a seed of the same ids fills it', async () => {
  expect(await leftByIndex('other', 'every agent of one tenant')).toHaveLength(80)
  await assembly.service.dev.reset()
  expect(await leftByIndex('other', 'every agent of one tenant')).toEqual([])
  const search = searchFor('agent')
  const { count } = await searchTenant(db, { table: 'parent_agents', tenantId: 'demo', search })
  expect(await leftByIndex('demo', 'agent')).toHaveLength(count)
})
