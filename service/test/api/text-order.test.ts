// @module-tag database

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import { agentSearch, callApi } from '../support/login.ts'
import { createService } from '../support/start.ts'

// The PostgreSQL of the tests sorts as English does unless it is told otherwise: a A b B.

let service: Service
let token: string
beforeAll(async () => {
  service = await createService()
  token = await service.dev.mintSessionToken('ada@demo.example')
  for (const agent_name of ['q b', 'q A', 'q a', 'q B', 'q ä', 'q Z', 'q _', 'q 10', 'q 9', 'q 😀', 'q ｚ']) {
    const body = { agent_name, description: 'Größe STRASSE ΣΊΣΥΦΟΣ 50%', parent_agent_type: 'Order' }
    await callApi(service, { token, path: '/api/parent_agents', body })
  }
})
afterAll(() => service.close())

async function found(body: object): Promise<string[]> {
  const answer = await callApi(service, { token, path: agentSearch, body })
  const { data } = (await answer.json()) as { data: { items: { agent_name: string }[] } }
  return data.items.map(({ agent_name }) => agent_name)
}

test('text sorts by code point, alike on every database', async () => {
  const filters = [{ column: 'parent_agent_type_key', operator: 'equals', value: 'order' }]
  const sorted = await found({ filters, sort: { column: 'agent_name' } })
  // `q B` and `q b` have one agent_key, so have `q A` and `q a`: the first of each was created.
  expect(sorted).toEqual(['q 10', 'q 9', 'q A', 'q Z', 'q _', 'q b', 'q ä', 'q ｚ', 'q 😀'])
  expect(await found({ filters, sort: { column: 'agent_name', desc: true } })).toEqual(sorted.reverse())
})

test.each([
  ['größe', 9],
  ['GRÖSSE', 0],
  ['strasse', 9],
  ['Straße', 0],
  ['σίσυφος', 9],
  ['50%', 9],
  ['5_%', 0],
])('search_value %s finds %i, alike on every database', async (search_value, count) => {
  expect((await found({ search_value })).filter((name) => name.startsWith('q '))).toHaveLength(count)
})

test('a filter by an id beyond 32 bits finds nothing and breaks nothing', async () => {
  for (const value of [2 ** 31, 2 ** 53 - 1, -(2 ** 53 - 1)]) {
    expect(await found({ filters: [{ column: 'id', operator: 'equals', value }] })).toEqual([])
    expect(await found({ filters: [{ column: 'llm_model', operator: 'equals', value }] })).toEqual([])
  }
})
