import { expect, onTestFinished, test } from 'vitest'
import { findSecretHashes, insertClients, insertSecrets, listClients } from '../../src/store/clients.ts'
import { insertAccounts, listAccounts } from '../../src/store/logins.ts'
import { assemble } from '../support/start.ts'

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
