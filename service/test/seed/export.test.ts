// @module-tag database

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Seed, ServiceOptions } from '../../src/index.ts'
import { seedOf, seedText } from '../../src/seed/export-seed.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { readSeedRows } from '../../src/store/read-seed-rows.ts'
import { callApi, clientOf, login, personOf } from '../support/login.ts'
import { assemble } from '../support/start.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-service-export-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function started(options: ServiceOptions): Promise<Assembly> {
  const assembly = await assemble(options)
  onTestFinished(assembly.service.close)
  return assembly
}

async function exportOf({ context }: Assembly): Promise<string> {
  return seedText(seedOf(await readSeedRows(context.store.db, context.clock.nowMs())))
}

async function seedFile(text: string): Promise<string> {
  const file = join(folder, `${crypto.randomUUID()}.json`)
  await writeFile(file, text)
  return file
}

test('the export of a seed from an export is the same, byte for byte, and passwords and secrets go on to work', async () => {
  const first = await started({})
  const { service } = first
  const token = await service.dev.mintSessionToken('ada@demo.example')
  // A name that is not in NFC is kept as it was sent, and so is a key that came alone.
  const body = { agent_name: 'Café', description: 'Line\nbreak "quoted" \u2028', parent_agent_type_key: 'docAgent' }
  expect((await callApi(service, { token, path: '/api/parent_agents', body })).status).toBe(200)
  await service.dev.setAccess({
    billing: { other: 'inactive' },
    approval: { 'Other public': 'unapproved' },
    surfaces: { 'Other confidential': ['chat', 'api'] },
    permissions: { 'rui@demo.example': [] },
  })
  const text = await exportOf(first)
  const second = await started({ seed: await seedFile(text) })
  expect(await exportOf(second)).toBe(text)
  const client = { ...clientOf(second.service, 'Demo confidential'), ...clientOf(service, 'Demo confidential') }
  const { access_token } = await login(second.service, { client, person: personOf(service, 'ada') })
  expect(access_token).not.toBe('')
  expect(text).toContain('"agent_name":"Café"')
  const summary = ({ people, clients }: Assembly['service']) => ({
    emails: people.map(({ email }) => email),
    clients: clients.map(({ name }) => name),
  })
  expect(summary(second.service)).toEqual(summary(service))
})

test('a seed without ids has the same export at every start, but for the passwords and the key', async () => {
  const seed: Seed = {
    tenants: [{ id: 'zeta' }, { id: 'acme', activity: 'inactive' }],
    endpointBilling: { searchLlmModels: 'needed' },
    people: [{ tenant: 'zeta', email: 'mia@zeta.example', password: 'p'.repeat(43) }],
    clients: [
      {
        tenant: 'acme',
        name: 'Web',
        redirectUris: ['https://b.example/cb', 'https://a.example/cb'],
        activity: 'inactive',
      },
    ],
    models: [{ id: 3, tenant: 'zeta', model_name: 'One', model_version: '1', provider: 'p' }],
    agents: Array.from({ length: 600 }, (_, index) => {
      return { tenant: 'zeta', agent_name: `Agent ${index}`, description: 'x', parent_agent_type: 'T' }
    }),
  }
  const texts = await Promise.all([1, 2].map(async () => exportOf(await started({ seed }))))
  const stable = texts.map((text) => text.replace(/"hashKey": "[\w-]{43}"|hmac-sha256\$[\w-]{43}/g, ''))
  expect(stable[1]).toBe(stable[0])
  expect(JSON.parse(texts[0] ?? '')).toMatchObject({
    endpointBilling: { searchLlmModels: 'needed' },
    tenants: [{ id: 'acme', activity: 'inactive' }, { id: 'zeta' }],
    clients: [
      {
        clientId: expect.stringMatching(/^app_[0-9a-f]{32}$/),
        redirectUris: ['https://b.example/cb', 'https://a.example/cb'],
      },
    ],
    models: [
      { id: 1, tenant: 'acme' },
      { id: 2 },
      { id: 3, tenant: 'zeta' },
      { id: 4 },
      { id: 5 },
      { id: 6 },
      { id: 7 },
    ],
  })
  const again = await started({ seed: await seedFile(texts[0] ?? '') })
  expect(await exportOf(again)).toBe(texts[0])
  const { service } = again
  await service.dev.setAccess({ billing: { zeta: 'inactive' } })
  const token = await service.dev.mintSessionToken('mia@zeta.example')
  const models = await callApi(service, { token, path: '/api/llm_models/search', body: {} })
  expect({ status: models.status, hasReason: (await models.text()).includes('no active billing') }).toEqual({
    status: 403,
    hasReason: true,
  })
})
