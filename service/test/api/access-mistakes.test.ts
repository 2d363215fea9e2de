// @module-tag database

import { expect, onTestFinished, test } from 'vitest'
import type { AccessChange, Service } from '../../src/index.ts'
import { agent, createAgent } from '../support/create-agent.ts'
import { startService } from '../support/start.ts'

function post({ authUrl }: Service, change: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${authUrl}/_dev/access`, { method: 'POST', headers, body: JSON.stringify(change) })
}

const mistakes: [unknown, string][] = [
  [{ billing: { nowhere: 'inactive' } }, 'there is no tenant "nowhere"; there are demo, other'],
  [{ approval: { Nothing: 'unapproved' } }, 'there is no client "Nothing"; there are Demo public, Demo confidential,'],
  [{ surfaces: { Nothing: [] } }, 'there is no client "Nothing"; there are Demo public,'],
  [{ billing: { 'de\0mo': 'inactive' } }, 'there is no tenant "de'],
  [{ approval: { 'Demo\0public': 'unapproved' } }, 'there is no client "Demo'],
  [{ surfaces: { 'Demo\0public': [] } }, 'there is no client "Demo'],
  [{ permissions: { 'x@demo.example': [] } }, 'there is no person "x@demo.example"; there are ada@demo.example,'],
  [
    { permissions: { 'ada@demo.example': ['parent_agents.write'] } },
    'invalid access: permissions.…[0]: must be api.access, parent_agents.read,',
  ],
  [{ billing: { demo: 'off' } }, 'invalid access: billing.demo: must be active or inactive'],
  [{ billing: 'inactive' }, 'invalid access: billing: must be an object'],
  [
    { endpointBilling: { createAgent: 'needed' } },
    'invalid access: endpointBilling.createAgent: is unknown; use getParentAgentContextVariables, searchParentAgents,',
  ],
  [{ surfaces: { 'Demo public': 'api' } }, 'invalid access: surfaces.…: must be a list'],
  [{ billings: {} }, 'invalid access: billings: is unknown; use billing, endpointBilling'],
  [[], 'invalid access: '],
]

test('what is no access change is refused by each way in and changes nothing', async () => {
  const service = await startService({ dev: 'on' })
  onTestFinished(service.close)
  for (const [change, message] of mistakes) {
    const whole = { billing: { demo: 'inactive' }, ...(Array.isArray(change) ? [change] : (change as object)) }
    const answer = await post(service, Array.isArray(change) ? change : whole)
    const { error } = (await answer.json()) as { error: string }
    expect({ change, status: answer.status, error }).toEqual({
      change,
      status: 422,
      error: expect.stringContaining(message),
    })
    expect(error.length).toBeLessThanOrEqual(160)
    await expect(service.dev.setAccess(change as AccessChange)).rejects.toThrow(message)
    await expect(startService({ access: change as AccessChange })).rejects.toThrow(message)
  }
  const token = await service.dev.mintSessionToken('ada@demo.example')
  expect((await createAgent({ service, token }, agent)).status).toBe(200)
})
