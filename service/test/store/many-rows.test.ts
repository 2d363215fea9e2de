import { expect, onTestFinished, test } from 'vitest'
import { findSecretHashes, insertClients, insertSecrets, listClients } from '../../src/store/clients.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { insertAccounts, listAccounts } from '../../src/store/logins.ts'
import { tenantStore } from '../../src/store/tenant.ts'
import { insertTenants } from '../../src/store/tenants.ts'
import { assemble } from '../support/start.ts'

const modelSearch = {
  limit: 1,
  offset: 0,
  searchValue: undefined,
  filter: { kind: 'all' as const, filters: [] },
  sort: [],
}

test('a seed can have more tenants and models than one statement of SQLite has parameters', async () => {
  const { service, context } = await assemble()
  onTestFinished(service.close)
  const { db } = context.store
  const tenants = Array.from({ length: 8_200 }, (_, index) => {
    return { id: `t${index}`, name: 'T', activity: 'active' as const, billing: 'active' as const }
  })
  await insertTenants(db, tenants)
  const rows = await rawDatabase(db).selectFrom('tenants').select('id').where('name', '=', 'T').execute()
  expect(rows).toHaveLength(tenants.length)
  const { models } = tenantStore(db, 't1')
  await models.createAll(
    Array.from({ length: 5_500 }, (_, index) => {
      return { id: 1_000 + index, model_name: `M${index}`, model_version: '1', provider: 'p' }
    }),
  )
  expect((await models.search(modelSearch)).count).toBe(5_500)
})

test('a seed can have more users, clients, redirect URIs and secrets than one statement of SQLite has parameters', async () => {
  const { service, context } = await assemble()
  onTestFinished(service.close)
  const { db } = context.store
  const ids = Array.from({ length: 8_200 }, (_, index) => `m${index}`)
  const account = { name: 'M', passwordHash: 'h', permissions: [], activity: 'active' as const, tenantId: 'demo' }
  const before = { people: (await listAccounts(db)).length, clients: (await listClients(db)).length }
  await insertAccounts(
    db,
    ids.map((id) => ({ ...account, id, email: `${id}@x.example` })),
  )
  const client = { tenantId: 'demo', name: 'M', kind: 'public' as const, redirectUris: ['https://m.example/'] }
  await insertClients(
    db,
    ids.map((id) => ({ ...client, id })),
  )
  await insertSecrets(
    db,
    ids.map((id) => ({ id, clientId: id, hash: id, createdMs: 0 })),
  )
  const clients = await listClients(db)
  expect({ people: (await listAccounts(db)).length, clients: clients.length }).toEqual({
    people: before.people + ids.length,
    clients: before.clients + ids.length,
  })
  expect(clients.slice(before.clients).map(({ id }) => id)).toEqual(ids)
  expect(clients.at(-1)?.redirectUris).toEqual(client.redirectUris)
  expect(await findSecretHashes(db, 'm8199', 0)).toEqual(['m8199'])
})
