import { expect, onTestFinished, test } from 'vitest'
import type { AccessChange, Service } from '../../src/index.ts'
import { agentSearch, authorize, callApi, clientOf, errorOf, login, refresh } from '../support/login.ts'
import { oneService } from '../support/one-service.ts'
import { startService } from '../support/start.ts'

let service: Service & { fetch: typeof fetch }

/** Over sockets, as a client in another process sees it. */
function use(started: Service): void {
  service = Object.assign(started, { fetch: (input: string | URL | Request, init?: RequestInit) => fetch(input, init) })
}

const fresh = oneService(() => startService({ dev: 'on' }))
async function start(): Promise<void> {
  use(await fresh())
}

async function startWith(access: AccessChange): Promise<void> {
  use(await startService({ dev: 'on', access }))
  onTestFinished(service.close)
}

function post(change: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${service.authUrl}/_dev/access`, { method: 'POST', headers, body: JSON.stringify(change) })
}

/** What each endpoint answers: a 403 with its text, or only the status. */
async function answers(token: string): Promise<Record<string, string | number>> {
  const agent = { agent_name: crypto.randomUUID(), description: 'x', parent_agent_type: 'x' }
  const calls: [string, string, unknown][] = [
    ['getParentAgentContextVariables', '/api/parent_agents/1/state_function/context_variables', undefined],
    ['searchParentAgents', agentSearch, {}],
    ['createParentAgent', '/api/parent_agents', agent],
    ['searchLlmModels', '/api/llm_models/search', {}],
  ]
  const all: Record<string, string | number> = {}
  for (const [name, path, body] of calls) {
    const answer = await callApi(service, { token, path, body })
    const { error_type, error_message } = (await answer.json()) as Record<string, string | undefined>
    // A reset gives agents other ids: who may read them learns that this one is not there.
    const status = name === 'getParentAgentContextVariables' && answer.status === 404 ? 200 : answer.status
    all[name] = status === 403 && error_type === typeOf(error_message) ? `403 ${error_message}` : status
  }
  return all
}

function typeOf(message: string | undefined): string {
  return message?.includes('billing') ? 'billing_error' : 'permission_error'
}

const open = {
  getParentAgentContextVariables: 200,
  searchParentAgents: 200,
  createParentAgent: 200,
  searchLlmModels: 200,
}
const missing = '403 missing permission'
const unbilled = '403 the tenant has no active billing'
const unapproved = '403 OAuth client is not approved for this API'
const everywhere = (text: string) => Object.fromEntries(Object.keys(open).map((name) => [name, text]))

const changes: [string, AccessChange, Record<string, string | number>][] = [
  ['inactive billing', { billing: { demo: 'inactive' } }, { ...open, createParentAgent: unbilled }],
  [
    'an endpoint that needs billing',
    { billing: { demo: 'inactive' }, endpointBilling: { searchLlmModels: 'needed', createParentAgent: 'not-needed' } },
    { ...open, searchLlmModels: unbilled },
  ],
  ['no api surface', { surfaces: { 'Demo public': ['files'] } }, everywhere(unapproved)],
  ['a client without approval', { approval: { 'Demo public': 'unapproved' } }, everywhere(unapproved)],
  [
    'a missing permission',
    { permissions: { 'ada@demo.example': ['api.access', 'parent_agents.create'] } },
    { ...everywhere(missing), createParentAgent: 200 },
  ],
  ['no permission', { permissions: { 'Ada@demo.example': [] } }, everywhere(missing)],
]

test.each(changes)('a dev control sets %s, seen on the next call, and a reset ends it', async (_, change, expected) => {
  await start()
  let token = (await login(service)).access_token
  expect(await answers(token)).toEqual(open)
  const direct = (wanted: AccessChange) => service.dev.setAccess(wanted)
  for (const set of [direct, post]) {
    const set200 = await set(change)
    expect(set200?.status ?? 200).toBe(200)
    expect(await answers(token)).toEqual(expected)
    await service.dev.reset()
    token = (await login(service)).access_token
    expect(await answers(token)).toEqual(open)
  }
})

test('a reset ends what was set of the billing of endpoints', async () => {
  await start()
  const change = { endpointBilling: { searchLlmModels: 'needed', createParentAgent: 'not-needed' } } as const
  await service.dev.setAccess(change)
  await service.dev.reset()
  await service.dev.setAccess({ billing: { demo: 'inactive' } })
  expect(await answers((await login(service)).access_token)).toEqual({ ...open, createParentAgent: unbilled })
})

test.each(changes)('createService and startService take %s, and a reset keeps it', async (_, access, expected) => {
  await startWith(access)
  const isShut = Object.values(expected).includes(unapproved)
  for (const _turn of ['at the start', 'after a reset']) {
    const { code, url } = await authorize(service)
    expect({ isRefused: code === '', error: url.searchParams.get('error') }).toEqual({
      isRefused: isShut,
      error: isShut ? 'unauthorized_client' : null,
    })
    if (!isShut) expect(await answers((await login(service)).access_token)).toEqual(expected)
    await service.dev.reset()
  }
})

test('approval given back lets the same tokens in again, and a refresh meanwhile is unauthorized_client', async () => {
  await start()
  const client = clientOf(service, 'Demo public')
  const tokens = await login(service)
  await service.dev.setAccess({ approval: { [client.clientId]: 'unapproved' } })
  const refused = await refresh(service, client, tokens.refresh_token)
  expect({ status: refused.status, error: await errorOf(refused) }).toEqual({
    status: 400,
    error: 'unauthorized_client',
  })
  expect(await answers(tokens.access_token)).toEqual(everywhere(unapproved))
  await service.dev.setAccess({ approval: { 'Demo public': 'approved' } })
  expect(await answers(tokens.access_token)).toEqual(open)
  expect((await refresh(service, client, tokens.refresh_token)).status).toBe(200)
})

test('the roster shows the permissions that were set', async () => {
  await start()
  const answer = await post({ permissions: { 'rui@demo.example': ['api.access'] } })
  const { people } = (await answer.json()) as { people: { email: string; permissions: string[] }[] }
  expect(people.find(({ email }) => email === 'rui@demo.example')?.permissions).toEqual(['api.access'])
  expect(service.people.find(({ email }) => email === 'rui@demo.example')?.permissions).toEqual(['api.access'])
})
