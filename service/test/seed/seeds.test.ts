// @module-tag database

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import type { Seed, Service, ServiceOptions } from '../../src/index.ts'
import { fillDatabase } from '../../src/seed/fill-database.ts'
import { worldOf } from '../../src/seed/world-of-seed.ts'
import { agentSearch, authorize, Browser, callApi, clientOf, login, personOf, signInPath } from '../support/login.ts'
import { assemble, createService, isOnPostgres } from '../support/start.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-service-seeds-'))
})
afterAll(() => rm(folder, { recursive: true }))

const uri = 'https://app.demo.example/callback'
/** Of the form that needs no slow hash. */
const password = 'p'.repeat(43)

function seedWith(changes: Partial<Seed> = {}): Seed {
  return {
    tenants: [{ id: 'acme', name: 'Acme' }],
    people: [{ email: 'Mia@Acme.example', name: 'Mia', password }],
    clients: [
      { clientId: 'acme-web', name: 'Web', redirectUris: [uri] },
      { name: 'Backend', kind: 'confidential', clientSecret: 's'.repeat(32), redirectUris: [uri] },
    ],
    agents: [{ agent_name: 'My Agent', description: 'Does it.', parent_agent_type: 'Worker' }],
    ...changes,
  }
}

test.each(['Documnt', 'Caf\u00e9 Agent', 'ＷＩＤＥ'])(
  'a seed and a creation make the same of the type %s, which no agent has',
  async (type) => {
    const service = await started(
      seedWith({ agents: [{ agent_name: 'A', description: 'x', parent_agent_type: type }] }),
    )
    const token = await service.dev.mintSessionToken('mia@acme.example')
    const body = { agent_name: 'B', description: 'x', parent_agent_type: type }
    expect((await callApi(service, { token, path: '/api/parent_agents', body })).status).toBe(200)
    const found = await callApi(service, { token, path: agentSearch, body: {} })
    const { data } = (await found.json()) as { data: { items: Record<string, unknown>[] } }
    const [seeded, created] = data.items.map(({ parent_agent_type, parent_agent_type_key }) => ({
      type: parent_agent_type,
      key: parent_agent_type_key,
    }))
    expect(created).toEqual(seeded)
    expect(seeded?.type).toBe(type)
  },
)

async function started(seed: Seed): Promise<Service> {
  const service = await createService({ seed })
  onTestFinished(service.close)
  return service
}

/** A database that outlives a service. */
async function keptPlace(): Promise<ServiceOptions> {
  if (isOnPostgres()) return { databaseUrl: (await freshDatabase()).url, passwordScheme: 'keyed' }
  return { dataFile: join(folder, `${crypto.randomUUID()}.db`), passwordScheme: 'keyed' }
}

async function tokenOf(service: Service, client = 'Web', email = 'mia@acme.example'): Promise<string> {
  const found = { client: clientOf(service, client), person: personOf(service, email) }
  return (await login(service, found)).access_token
}

async function agentsOf(service: Service): Promise<Record<string, unknown>[]> {
  const token = await service.dev.mintSessionToken('mia@acme.example')
  const response = await callApi(service, { token, path: agentSearch, body: {} })
  return ((await response.json()) as { data: { items: Record<string, unknown>[] } }).data.items
}

const newAgent = { agent_name: 'New', description: 'x', parent_agent_type: 'Worker' }

async function create(service: Service, token: string, name = 'New'): Promise<{ status: number; text: string }> {
  const response = await callApi(service, {
    token,
    path: '/api/parent_agents',
    body: { ...newAgent, agent_name: name },
  })
  return { status: response.status, text: await response.text() }
}

test.each(['Web', 'Backend'])('a service has exactly the data of its seed, and %s logs in', async (name) => {
  const service = await started(seedWith())
  expect(service.people).toEqual([
    {
      name: 'Mia',
      email: 'mia@acme.example',
      password,
      tenant: 'acme',
      permissions: ['api.access', 'parent_agents.read', 'parent_agents.create', 'llm_models.read'],
    },
  ])
  expect(service.clients.map(({ clientId, name, clientSecret }) => ({ clientId, name, clientSecret }))).toStrictEqual([
    { clientId: 'acme-web', name: 'Web', clientSecret: undefined },
    { clientId: 'app_231c155a8d096c2cc4a21c1defffa0b8', name: 'Backend', clientSecret: 's'.repeat(32) },
  ])
  const token = await tokenOf(service, name)
  const [agent, ...others] = await agentsOf(service)
  expect(others).toEqual([])
  expect(agent).toMatchObject({
    id: 1,
    agent_key: 'my_agent',
    parent_agent_type_key: 'worker',
    llm_model_name: 'Aurora',
    created_at: '2026-01-01T00:00:00.000Z',
    configs: { max_rounds: '10' },
  })
  expect(JSON.parse((await create(service, token)).text)).toMatchObject({ data: { items: [{ id: 2 }] } })
})

test('users, clients and redirect URIs are listed in the order of the seed, also if tenants alternate', async () => {
  const names = ['Zoe', 'Adam', 'Max', 'Bea']
  const tenantOf = (index: number) => (index % 2 === 0 ? 'umbra' : 'acme')
  const uris = ['c', 'a', 'b'].map((path) => `${uri}/${path}`)
  const service = await started({
    tenants: [
      { id: 'acme', name: 'Acme' },
      { id: 'umbra', name: 'Umbra' },
    ],
    people: names.map((name, index) => ({ email: `${name}@x.example`, password, tenant: tenantOf(index) })),
    clients: names.map((name, index) => ({ name, tenant: tenantOf(index), redirectUris: uris })),
  })
  expect(service.people.map(({ email }) => email)).toEqual(names.map((name) => `${name.toLowerCase()}@x.example`))
  expect(service.clients.map(({ name, tenant, redirectUris }) => ({ name, tenant, redirectUris }))).toEqual(
    names.map((name, index) => ({ name, tenant: tenantOf(index), redirectUris: uris })),
  )
})

test('a password and a secret that a seed leaves out are generated', async () => {
  const people = [{ email: 'mia@acme.example' }]
  const clients = [{ name: 'Backend', kind: 'confidential' as const, redirectUris: [uri] }]
  const service = await started(seedWith({ people, clients }))
  expect([service.people[0]?.password, service.clients[0]?.clientSecret].join(' ')).toMatch(/^[\w-]{43} [\w-]{43}$/)
  expect(await tokenOf(service, 'Backend')).not.toBe('')
})

test('members of an agent are kept, and configs that are absent have the defaults', async () => {
  const state_function = [{ name: 'language', expression: 'x' }]
  const group = { key: 'k', tool_key: 'k', tool_name: 'n', display_name: 'd', tool_id: 't', source_type: 'tool' }
  const variables = [{ full_var: '{{ k.v }}', insert_value: 'k.v' }]
  const service = await started(
    seedWith({
      models: [
        { model_name: 'One', model_version: '1', provider: 'p' },
        { id: 7, model_name: 'Two', model_version: '2', provider: 'p' },
      ],
      agents: [
        {
          id: 40,
          agent_name: 'A',
          description: 'x',
          parent_agent_type_key: 'big_worker',
          active: false,
          llm_model_name: 'Two',
          configs: { temperature: 1, memory_expiration: { agent_ttl_days: 3 } },
          state_function,
          context_variables: [{ ...group, variables }],
        },
      ],
    }),
  )
  expect(await agentsOf(service)).toMatchObject([
    {
      id: 40,
      parent_agent_type: 'Big Worker',
      active: false,
      llm_model: 7,
      state_function,
      configs: {
        last_agent_in_group: '',
        max_rounds: '10',
        temperature: 1,
        max_messages: '50',
        continue_with_last_agent: false,
        memory_expiration: {
          thread_ttl_hours: 24,
          agent_ttl_days: 3,
          tenant_ttl_days: 90,
          clear_thread_on_conversation_end: false,
        },
      },
    },
  ])
  const token = await service.dev.mintSessionToken('mia@acme.example')
  const found = await callApi(service, { token, path: '/api/parent_agents/40/state_function/context_variables' })
  const complete = [{ path: '', type: 'any', description: '', ...variables[0] }]
  expect(await found.json()).toMatchObject({
    data: { context_variables: [{ ...group, variables: complete, output_schema: null }] },
  })
})

const [web] = seedWith().clients ?? []
const [mia] = seedWith().people ?? []

test.each<[string, Partial<Seed>, number, string]>([
  ['inactive billing', { tenants: [{ id: 'acme', billing: 'inactive' }] }, 403, 'the tenant has no active billing'],
  [
    'inactive billing where create needs none',
    { tenants: [{ id: 'acme', billing: 'inactive' }], endpointBilling: { createParentAgent: 'not-needed' } },
    200,
    '"success":true',
  ],
  [
    'a missing permission',
    { people: [{ ...mia, email: 'mia@acme.example', permissions: ['api.access'] }] },
    403,
    'missing permission',
  ],
  ['no permission', { people: [{ ...mia, email: 'mia@acme.example', permissions: [] }] }, 403, 'missing permission'],
])('a seed sets %s, also after a reset', async (_, changes, status, text) => {
  const service = await started(seedWith(changes))
  for (const round of ['start', 'reset']) {
    const made = await create(service, await service.dev.mintSessionToken('mia@acme.example'))
    expect({ round, status: made.status, hasText: made.text.includes(text) }).toEqual({ round, status, hasText: true })
    await service.dev.reset()
  }
})

test.each<[string, Partial<Seed>, string]>([
  [
    'an unapproved client',
    { clients: [{ ...web, name: 'Web', redirectUris: [uri], approval: 'unapproved' }] },
    'unauthorized_client',
  ],
  [
    'no api surface',
    { clients: [{ ...web, name: 'Web', redirectUris: [uri], surfaces: ['chat'] }] },
    'unauthorized_client',
  ],
  [
    'an inactive client',
    { clients: [{ ...web, name: 'Web', redirectUris: [uri], activity: 'inactive' }] },
    'unauthorized_client',
  ],
])('a seed sets %s', async (_, changes, error) => {
  const service = await started(seedWith(changes))
  const { url } = await authorize(service, { client: clientOf(service, 'Web'), person: personOf(service, 'mia') })
  expect(url.searchParams.get('error')).toBe(error)
})

test.each<[string, Partial<Seed>]>([
  ['user', { people: [{ ...mia, email: 'mia@acme.example', activity: 'inactive' }] }],
  ['tenant', { tenants: [{ id: 'acme', activity: 'inactive' }] }],
])('users of an inactive %s cannot sign in', async (_, changes) => {
  const service = await started(seedWith(changes))
  const browser = new Browser(service.fetch)
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'acme-web',
    redirect_uri: uri,
    scope: 'api.access',
  })
  query.set('code_challenge', 'c'.repeat(43))
  query.set('code_challenge_method', 'S256')
  const page = await browser.get(`${service.authUrl}/auth/v1/authorize?${query}`)
  const after = await browser.submit(page, signInPath, { email: 'mia@acme.example', password })
  expect({
    status: after.status,
    hasMessage: after.html.includes('The email address or the password is wrong.'),
  }).toEqual({ status: 403, hasMessage: true })
})

test('a seed that the data began with changes nothing, and other data are refused', async () => {
  const place = await keptPlace()
  const first = await createService({ ...place, seed: seedWith() })
  await create(first, await first.dev.mintSessionToken('mia@acme.example'))
  await first.close()
  const second = await createService({ ...place, seed: seedWith() })
  expect((await agentsOf(second)).map(({ agent_name }) => agent_name)).toEqual(['My Agent', 'New'])
  expect({
    password: second.people[0]?.password,
    clientSecret: second.clients[1]?.clientSecret,
  }).toStrictEqual({ password: '', clientSecret: undefined })
  await second.close()
  const other = seedWith({ people: [{ email: 'mia@acme.example', name: 'Mia', password: 'q'.repeat(43) }] })
  const text = 'seed: the database already holds other data; choose an empty one, or start without the seed'
  await expect(createService({ ...place, seed: other })).rejects.toThrow(text)
  const third = await createService(place)
  expect(third.people.map(({ email }) => email)).toEqual(['mia@acme.example'])
  await third.close()
})

test('a seed with a mistake leaves the database as empty as it was', async () => {
  const place = await keptPlace()
  const wrong = seedWith({ agents: [{ agent_name: 'A', description: 'x', parent_agent_type: 'T', llm_model: 99 }] })
  await expect(createService({ ...place, seed: wrong })).rejects.toThrow('seed: agents[0].llm_model: the tenant has no')
  const service = await createService({ ...place, seed: seedWith() })
  expect((await agentsOf(service)).map(({ agent_name }) => agent_name)).toEqual(['My Agent'])
  await service.close()
})

test('a seed is refused where the demo data are', async () => {
  const place = await keptPlace()
  await (await createService(place)).close()
  await expect(createService({ ...place, seed: seedWith() })).rejects.toThrow('the database already holds other data')
})

test('data that fail at their last row change nothing', async () => {
  const { service, context } = await assemble({ seed: seedWith() })
  onTestFinished(service.close)
  const world = worldOf(seedWith({ tenants: [{ id: 'globex' }] }))
  const secrets = [1, 2].map((createdMs) => ({ id: 'twice', hash: 'h', createdMs }))
  const twice = { ...world, clients: world.clients.map((client) => ({ ...client, secrets })) }
  await expect(fillDatabase(context, twice, 'replace')).rejects.toThrow(/unique|duplicate/i)
  expect((await agentsOf(service)).map(({ tenant }) => tenant)).toEqual(['acme'])
})

test('of two services that fill one database at once with one seed, both start; with two seeds, one does', async () => {
  const place = await keptPlace()
  const same = await Promise.all([1, 2].map(() => createService({ ...place, seed: seedWith() })))
  expect(same.map(({ people }) => people[0]?.password).sort()).toEqual(['', password])
  await Promise.all(same.map((service) => service.close()))
  const contested = await keptPlace()
  const seeds = ['acme', 'globex'].map((id) => seedWith({ tenants: [{ id }] }))
  const both = await Promise.allSettled(seeds.map((seed) => createService({ ...contested, seed })))
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  for (const result of both) {
    if (result.status === 'fulfilled') {
      expect(new Set(result.value.clients.map(({ tenant }) => tenant)).size).toBe(1)
      await result.value.close()
    } else expect(String(result.reason)).toContain('the database already holds other data')
  }
})

test('a reset without the seed of the data changes nothing and says what to do', async () => {
  const place = await keptPlace()
  const first = await createService({ seed: seedWith({}), ...place })
  await first.close()
  const service = await createService({ ...place, dev: 'on' })
  onTestFinished(service.close)
  const { clients } = service
  const refused = await service.fetch(new Request(`${service.authUrl}/_dev/reset`, { method: 'POST' }))
  expect(await refused.text()).toContain('start the service with that seed to reset them')
  expect(service.clients).toEqual(clients)
})
