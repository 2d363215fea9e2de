import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import { agent, type Created, countAgents, createAgent } from '../support/create-agent.ts'
import { createService } from '../support/start.ts'

// A refusal changes nothing, so one service serves all of them.

let service: Service
let token: string
beforeAll(async () => {
  service = await createService()
  token = await service.dev.mintSessionToken('ada@demo.example')
})
afterAll(() => service.close())

const create = (body: object): Promise<Created> => createAgent({ service, token }, body)
const count = (): Promise<number> => countAgents({ service, token })

test.each([
  'a\u200c',
  '\u200ca',
  'a \u200cb',
  'a\u200c b',
  'a\u200c\u200cb',
  'a\u200d\u200cb',
  '\u200d',
  '-\u200d-',
  '👩\u200d',
  '👩\u200d ',
])('ZWNJ and ZWJ that join nothing are 422: %j', async (agent_name) => {
  const { status, detail } = await create({ ...agent, agent_name })
  expect({ status, types: detail.map(({ type }) => type) }).toEqual({ status: 422, types: ['string_invisible'] })
})

test.each(['a\tb', 'a\nb', 'a\u200bb', 'a\u202eb', 'a\ufeffb', 'a\u034fb', 'a\u{e0001}b', 'a\0b'])(
  'the name %j is 422',
  async (agent_name) => {
    const { status, detail } = await create({ ...agent, agent_name })
    expect({ status, loc: detail[0]?.loc }).toEqual({ status: 422, loc: ['body', 'agent_name'] })
    expect(await count()).toBe(12)
  },
)

test.each([
  ['no name', { agent_name: undefined }, ['agent_name'], 'missing'],
  ['an empty name', { agent_name: '' }, ['agent_name'], 'string_too_short'],
  ['a number for a name', { agent_name: 1 }, ['agent_name'], 'string_type'],
  ['null for a name', { agent_name: null }, ['agent_name'], 'string_type'],
  ['a name of 501 characters', { agent_name: 'x'.repeat(501) }, ['agent_name'], 'string_too_long'],
  ['no description', { description: undefined }, ['description'], 'missing'],
  ['an empty description', { description: '' }, ['description'], 'string_too_short'],
  ['a description of 4,001 characters', { description: 'x'.repeat(4_001) }, ['description'], 'string_too_long'],
  ['a description of 255 KiB', { description: 'x'.repeat(255 * 1_024) }, ['description'], 'string_too_long'],
  ['a type of 501 characters', { parent_agent_type: 'x'.repeat(501) }, ['parent_agent_type'], 'string_too_long'],
  [
    // Without the bound, comparing it with the key would take seconds: NFC sorts marks in quadratic time.
    'a type of 501 characters and another key',
    { parent_agent_type: 'x'.repeat(501), parent_agent_type_key: 'other_type' },
    ['parent_agent_type'],
    'string_too_long',
  ],
  ['NUL in the description', { description: 'a\0' }, ['description'], 'string_unstorable'],
  ['neither type', { parent_agent_type: undefined }, ['parent_agent_type_key'], 'missing'],
  ['an empty type', { parent_agent_type: '' }, ['parent_agent_type'], 'string_too_short'],
  ['an empty type key', { parent_agent_type_key: '' }, ['parent_agent_type_key'], 'string_too_short'],
  ['types that differ', { parent_agent_type_key: 'other_type' }, ['parent_agent_type_key'], 'value_error'],
  ['text for active', { active: 'yes' }, ['active'], 'boolean_type'],
])('%s is 422', async (_, change, path, type) => {
  const { status, detail } = await create({ ...agent, ...change })
  expect(status).toBe(422)
  expect(detail).toMatchObject([{ loc: ['body', ...path], type }])
  expect(await count()).toBe(12)
})
