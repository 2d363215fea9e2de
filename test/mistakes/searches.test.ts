import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { type AgentApi, createAgentApi, type NewParentAgent } from '../../src/api/index.ts'
import { configWith, failure, scriptedFetch } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

// Members of a search that a new user misspells or guesses. Each message names the member and what to do.

const { baseUrl } = configWith()
const untyped = (value: unknown): never => value as never
const remedy = 'Use filters or extraMembers'
const found = (): Response =>
  Response.json({ success: true, data: { items: [], count: 0 }, error_type: null, error_message: null })

type Calls = ReturnType<typeof scriptedFetch>['calls']
function clientWith(...answers: Parameters<typeof scriptedFetch>): { api: AgentApi; calls: Calls } {
  const { fetch, calls } = scriptedFetch(...answers)
  return { api: createAgentApi({ baseUrl, fetch }), calls }
}

const searches: [name: string, search: (api: AgentApi, wrong: never) => unknown][] = [
  ['parentAgents.search', (api, wrong) => api.parentAgents.search(wrong)],
  ['parentAgents.searchAll', (api, wrong) => api.parentAgents.searchAll(wrong)],
  ['llmModels.search', (api, wrong) => api.llmModels.search(wrong)],
  ['llmModels.searchAll', (api, wrong) => api.llmModels.searchAll(wrong)],
]

it.each(searches)('%s names an unknown member of the search, and sends nothing', async (_, search) => {
  const { api, calls } = clientWith()
  const messages: [wrong: unknown, what: string][] = [
    [{ limt: 5 }, 'limt is not an option of a search. Use limit'],
    [{ searchValue: 'x' }, 'searchValue is not an option of a search. Use search_value'],
    [{ agent_name: 'x' }, `agent_name is not an option of a search. ${remedy}`],
    [{ page: 2 }, `page is not an option of a search. ${remedy}`],
    [{ limit: '5' }, 'limit must be a number'],
    [{ offset: '0' }, 'offset must be a number'],
    [{ search_value: 7 }, 'search_value must be a string'],
    [{ filters: { column: 'id' } }, 'filters must be a list'],
    [{ sort: 'id' }, 'sort must be an object'],
    [{ sort: [{ column: 'id' }] }, 'sort must be an object'],
    [{ sort: { column: 'id', order: 'desc' } }, 'order is not an option of sort. Use desc: true'],
    [{ sort: { column: 'id', direction: 'desc' } }, 'direction is not an option of sort. Use desc: true'],
    [{ sort: { colum: 'id', desc: true } }, 'colum is not an option of sort. Use column'],
    ['text', 'a search needs an object of options'],
    [null, 'a search needs an object of options'],
  ]
  for (const [wrong, what] of messages)
    expect(await failure(async () => search(api, untyped(wrong)))).toMatchObject(invalid(what))
  expect(calls).toEqual([])
})

it('a shorthand of the other kind of rows is unknown, and near members are named', async () => {
  const { api, calls } = clientWith()
  expect(await failure(api.llmModels.search(untyped({ active: true })))).toMatchObject(
    invalid(`active is not an option of a search. ${remedy}`),
  )
  expect(await failure(api.parentAgents.search(untyped({ activ: true })))).toMatchObject(
    invalid('activ is not an option of a search. Use active'),
  )
  expect(calls).toEqual([])
})

it('a member whose name could be a value is not quoted', async () => {
  const { api } = clientWith()
  const name = 'a-name-that-may-be-a-secret'
  expect(await failure(api.parentAgents.search(untyped({ [name]: 1 })))).toMatchObject(
    invalid('there is an unknown option of a search'),
  )
})

it('a search sends all that its type leaves open: operators, groups of filters, and undefined members', async () => {
  const { api, calls } = clientWith(found())
  const filters = [
    { column: 'id', operator: 'in', value: [1, 2] },
    { or: [{ column: 'active', operator: 'equals', value: true }], own: 1 },
  ] as const
  await api.parentAgents.search(
    { filters, limit: undefined, ...{ page: undefined } },
    { extraMembers: { active_state: 'on' } },
  )
  expect(calls.map(({ init }) => JSON.parse(String(init.body)))).toEqual([{ filters, active_state: 'on' }])
})

it.each<[options: unknown, what: string]>([
  [{ maxrows: 5 }, 'maxrows is not an option of searchAll. Use maxRows'],
  [{ limit: 5 }, 'limit is not an option of searchAll. Remove it'],
  [{ maxRows: '5' }, 'maxRows must be a number'],
  [null, 'searchAll needs an object of options'],
])('searchAll({}, %j) names the wrong option at the call', async (options, what) => {
  const { api, calls } = clientWith()
  expect(await failure(() => api.parentAgents.searchAll({}, untyped(options)))).toMatchObject(invalid(what))
  expect(calls).toEqual([])
})

it.each<[how: string, read: (rows: never[]) => unknown]>([
  ['for of', (rows) => [...rows]],
  ['Array.from', (rows) => Array.from(rows)],
  ['map', (rows) => rows.map(String)],
  ['forEach', (rows) => rows.forEach(String)],
])('searchAll: %s says to use for await, and sends nothing', async (_, read) => {
  const { api, calls } = clientWith()
  const rows = api.parentAgents.searchAll()
  expect(await failure(async () => read(untyped(rows)))).toMatchObject(invalid('searchAll needs for await'))
  expect(calls).toEqual([])
})

it('searchAll: TypeScript refuses to read the rows without for await', () => {
  // @ts-expect-error: the rows have no iterator for `for of`.
  type Iterator = ReturnType<AgentApi['parentAgents']['searchAll']>[typeof Symbol.iterator]
  // @ts-expect-error: the rows are no array.
  type Map = ReturnType<AgentApi['parentAgents']['searchAll']>['map']
  expect<[Iterator, Map] | undefined>(undefined).toBeUndefined()
})

it.each([[[1]], 'text', 7])('extraMembers %j is refused, and nothing is sent', async (extraMembers) => {
  const { api, calls } = clientWith()
  const agent = { agent_name: 'A', description: 'x', parent_agent_type: 'T' }
  const options = untyped({ extraMembers })
  for (const call of [() => api.parentAgents.search({}, options), () => api.parentAgents.create(agent, options)])
    expect(await failure(call)).toMatchObject(invalid('extraMembers must be an object'))
  expect(calls).toEqual([])
})

it('create: TypeScript refuses a field that no creation has, and the page and the docstring say what becomes of it', async () => {
  const agent = { agent_name: 'A', description: 'x', parent_agent_type: 'T' }
  // @ts-expect-error: a creation has no field `name`.
  const wrong: NewParentAgent = { ...agent, name: 'B' }
  expect(wrong.agent_name).toBe('A')
  const [page, source] = await Promise.all(
    ['docs/api-client.md', 'src/api/api.ts'].map((path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')),
  )
  expect(page).toContain(
    'A field that no creation has, such as `name` or `llm_model`, is sent and the service ignores it.',
  )
  expect(source).toContain('A field that no creation has, such as `name`, is sent and the service ignores it.')
})
