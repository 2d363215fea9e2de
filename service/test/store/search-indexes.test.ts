// @module-tag database

import type { KyselyPlugin, OperationNode } from 'kysely'
import { CompiledQuery, createQueryId, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fillStatements } from '../../../bench/service/agents.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import type { RawDatabase } from '../../src/store/database.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { indexAgents } from '../../src/store/index-agents.ts'
import type { Filter, Search } from '../../src/store/tables/tenant/checked-search.ts'
import type { ParentAgentColumn } from '../../src/store/tables/tenant/parent-agents.ts'
import { parentAgentsOf } from '../../src/store/tables/tenant/parent-agents.ts'
import { assemble, isOnPostgres } from '../support/start.ts'
import { removeStatementTimeout } from '../support/untimed.ts'

// The plans of the very queries that a search sends, on a table big enough for a planner to care.

let assembly: Assembly
let db: RawDatabase
beforeAll(async () => {
  assembly = await assemble()
  db = rawDatabase(assembly.context.store.db)
  await db.transaction().execute(async (filling) => {
    await removeStatementTimeout(filling)
    for (const statement of fillStatements(5_000, () => {})) await sql.raw(statement).execute(filling)
  })
  await indexAgents(assembly.context.store.db)
  if (!isOnPostgres()) return
  // What an autovacuum does at a moment of its own: a list of entries to be added makes an index dear for the planner.
  await db.transaction().execute(async (settling) => {
    await removeStatementTimeout(settling)
    await sql`select gin_clean_pending_list('agent_trigrams_by_trigram')`.execute(settling)
    await sql`analyze parent_agents, agent_trigrams`.execute(settling)
  })
})
afterAll(() => assembly.service.close())

const equals = (column: ParentAgentColumn, value: string | number): Filter<ParentAgentColumn> => {
  return { kind: 'equals', column, value }
}
const keyIndex = isOnPostgres() ? 'parent_agents_key' : 'sqlite_autoindex_parent_agents_1'
const oneId = isOnPostgres() ? /parent_agents_(pkey|by_tenant)/ : /PRIMARY KEY|parent_agents_by_tenant/

test.each<[string, Partial<Search<ParentAgentColumn>>, string | RegExp]>([
  ['agent_key', { filter: equals('agent_key', 'agent_7') }, keyIndex],
  ['agent_name', { filter: equals('agent_name', 'Agent 7') }, 'parent_agents_by_name'],
  ['id', { filter: equals('id', 7) }, oneId],
  ['parent_agent_type_key', { filter: equals('parent_agent_type_key', 'audit_agent') }, 'parent_agents_by_type'],
  [
    'parent_agent_type_key, with a text and sorted by name',
    {
      filter: equals('parent_agent_type_key', 'audit_agent'),
      searchValue: 'reads',
      sort: [{ column: 'agent_name', direction: 'desc' }],
    },
    // The second query of libSQL reads agents by the ids that the first one found.
    isOnPostgres() ? 'parent_agents_by_type' : /parent_agents_by_type|USING INTEGER PRIMARY KEY/,
  ],
])('a filter by %s finds page and count by its index', async (_name, search, index) => {
  const plans = await plansOf(search)
  expect(plans).toHaveLength(2)
  for (const plan of plans) expect(plan).toMatch(index)
  for (const plan of plans) expect(plan).not.toMatch(fullRead)
})

test('either of two filters finds page and count by both indexes', async () => {
  const either: Filter<ParentAgentColumn> = {
    kind: 'any',
    filters: [equals('agent_name', 'Agent 7'), equals('agent_key', 'agent_9')],
  }
  const plans = await plansOf({ filter: either, sort: [{ column: 'agent_name', direction: 'asc' }] })
  expect(plans).toHaveLength(2)
  for (const plan of isOnPostgres() ? plans : plans.slice(0, 1)) {
    expect(plan).toContain('parent_agents_by_name')
    expect(plan).toContain(keyIndex)
    expect(plan).not.toMatch(fullRead)
  }
})

test.each<[string, Partial<Search<ParentAgentColumn>>, string]>([
  ['agent_name', {}, 'parent_agents_by_name'],
  ['agent_key', {}, keyIndex],
  ['parent_agent_type_key', {}, 'parent_agents_by_type'],
  ['llm_model', {}, 'parent_agents_by_model'],
  // Few agents are inactive, so that the order by name alone costs any planner more.
  ['agent_name', { filter: equals('active', 0) }, 'parent_agents_by_activity_and_name'],
])('a first page sorted by %s (%j) is read in the order of an index', async (column, search, index) => {
  const sort = [{ column: column as ParentAgentColumn, direction: 'asc' as const }]
  const [, page] = await plansOf({ ...search, sort })
  expect(page).toContain(index)
  expect(page).not.toMatch(/TEMP B-TREE|"Node Type": ?"Sort"/)
})

test('a text is found by the index of trigrams, and then by the ids that have them', async () => {
  const sort = [{ column: 'agent_name' as const, direction: 'asc' as const }]
  const plans = (await plansOf({ searchValue: 'number 4711 says', sort }, 99)).join('\n')
  expect(plans).toMatch(
    isOnPostgres() ? 'agent_trigrams_by_trigram' : /agent_trigrams VIRTUAL TABLE INDEX \d+:[<>M\d]*[<>]/,
  )
  expect(plans).toMatch(oneId)
  expect(plans).not.toMatch(/SCAN parent_agents|Seq Scan/)
})

test('a text of more agents than an index finds is counted whole', async () => {
  const search = { limit: 1, offset: 4_999, searchValue: 'what NUMBER', filter: equals('tenant', 'demo'), sort: [] }
  const { rows, count } = await parentAgentsOf(db, 'demo').search(search)
  expect({ rows: rows.length, count }).toEqual({ rows: 1, count: 5_000 })
})

/** A table that is read from end to end; `SCAN` is SQLite's word, `Seq Scan` PostgreSQL's. */
const fullRead = /SCAN parent_agents|Seq Scan|\(tenant_id=\?\)(?! AND)/

/** What the planner says of the first queries of one search. Without a text these are its count and its page. */
async function plansOf(search: Partial<Search<ParentAgentColumn>>, most = 2): Promise<string[]> {
  const nodes: OperationNode[] = []
  const capture: KyselyPlugin = {
    transformQuery({ node }) {
      if (node.kind === 'SelectQueryNode') nodes.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const whole = {
    limit: 20,
    offset: 0,
    searchValue: undefined,
    filter: { kind: 'all' as const, filters: [] },
    sort: [],
  }
  await parentAgentsOf(db.withPlugin(capture), 'demo').search({ ...whole, ...search })
  const explain = isOnPostgres() ? 'explain (format json)' : 'explain query plan'
  return Promise.all(
    nodes.slice(0, most).map(async (node) => {
      const compiled = compile(node as Parameters<typeof compile>[0], createQueryId())
      const { rows } = await db.executeQuery(CompiledQuery.raw(`${explain} ${compiled.sql}`, [...compiled.parameters]))
      return JSON.stringify(rows)
    }),
  )
}

function compile(...parameters: Parameters<ReturnType<RawDatabase['getExecutor']>['compileQuery']>): CompiledQuery {
  return db.getExecutor().compileQuery(...parameters)
}
