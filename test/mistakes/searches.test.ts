import { expect, it } from 'vitest'
import { type AgentApi, createAgentApi, type NewParentAgent } from '../../src/api/index.ts'
import { configWith, failure, scriptedFetch } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

// Members of a search that a new user misspells or guesses. Each message names the member, and those that there are.

const { baseUrl } = configWith()
const untyped = (value: unknown): never => value as never
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
  const messages: [wrong: unknown, what: RegExp][] = [
    [{ limt: 5 }, /limt is not an option of a search, which has limit, offset, search_value, filters, sort, /],
    [{ page: 2 }, /page is not an option of a search/],
    [{ limit: '5' }, /limit and offset must be numbers/],
    [{ offset: '0' }, /limit and offset must be numbers/],
    [{ filters: { column: 'id' } }, /filters must be a list/],
    [{ sort: 'id' }, /sort needs an object/],
    [{ sort: [{ column: 'id' }] }, /sort needs an object/],
    [{ sort: { column: 'id', order: 'desc' } }, /order is not an option of sort, which has column, desc/],
    ['text', /a search needs an object of options/],
    [null, /a search needs an object of options/],
  ]
  for (const [wrong, message] of messages)
    expect(await failure(async () => search(api, untyped(wrong)))).toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(message),
    })
  expect(calls).toEqual([])
})

it('a shorthand of the other kind of rows is unknown', async () => {
  const { api, calls } = clientWith()
  expect(await failure(api.llmModels.search(untyped({ active: true })))).toMatchObject(
    invalid('active is not an option of a search, which has limit, offset, search_value, filters, sort, provider'),
  )
  expect(calls).toEqual([])
})

it('a member whose name could be a value is not quoted', async () => {
  const { api } = clientWith()
  const name = 'a-name-that-may-be-a-secret'
  expect(await failure(api.parentAgents.search(untyped({ [name]: 1 })))).toMatchObject(
    invalid('a name is not an option of a search, which has limit, offset, search_value, filters, sort, active'),
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

it.each<[options: unknown, message: RegExp]>([
  [{ limit: 5 }, /limit is not an option of searchAll, which has maxRows, /],
  [{ maxRows: '5' }, /maxRows must be a number/],
  [null, /searchAll needs an object of options/],
])('searchAll({}, %j) names the wrong option at the call', async (options, message) => {
  const { api, calls } = clientWith()
  expect(await failure(() => api.parentAgents.searchAll({}, untyped(options)))).toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(message),
  })
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

it('create: TypeScript refuses a field that no creation has', () => {
  const agent = { agent_name: 'A', description: 'x', parent_agent_type: 'T' }
  // @ts-expect-error: a creation has no field `name`.
  const wrong: NewParentAgent = { ...agent, name: 'B' }
  expect(wrong.agent_name).toBe('A')
})
