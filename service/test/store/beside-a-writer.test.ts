// @module-tag database

import { expect, onTestFinished, test } from 'vitest'
import type { Assembly } from '../../src/server/create-service.ts'
import { type Db, opaqueDatabase, rawDatabase, replaceServiceKey, transact } from '../../src/store/database.ts'
import { readSeedRows } from '../../src/store/read-seed-rows.ts'
import { openStore } from '../../src/store/store.ts'
import { clientOf, login, refresh } from '../support/login.ts'
import { assemble } from '../support/start.ts'
import { storedData } from '../support/stored-data.ts'
import { removeIdleTimeout } from '../support/untimed.ts'

// Each test has two connections to the same data, as two processes have.

const data = storedData()

async function started(): Promise<Assembly> {
  const assembly = await assemble({ ...data.location(), passwordScheme: 'keyed' })
  onTestFinished(assembly.service.close)
  return assembly
}

async function secondConnection(): Promise<Db> {
  const { db, close } = await openStore(data.location(), { migrations: 'refuse' })
  onTestFinished(close)
  return db
}

/** Does this once, after the first query and before the second one. */
function afterFirstQuery(db: Db, task: () => Promise<void>): Db {
  let queries = 0
  return opaqueDatabase(
    rawDatabase(db).withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        queries += 1
        if (queries === 1) await task()
        return result
      },
    }),
  )
}

test('an export reads beside an open transaction that writes, and has nothing that it wrote', async () => {
  const { context } = await started()
  const second = await secondConnection()
  const { keys } = await transact(context.store.db, async (tx) => {
    await removeIdleTimeout(rawDatabase(tx))
    await replaceServiceKey(tx, 'seed', 'not committed')
    return readSeedRows(second, 0)
  })
  expect(keys).toContainEqual({ name: 'seed', value: 'demo' })
})

test('a service answers a token request during an export, which has nothing that was written after it began', async () => {
  const { service } = await started()
  const { refresh_token } = await login(service)
  let status = 0
  const exporting = afterFirstQuery(await secondConnection(), async () => {
    status = (await refresh(service, clientOf(service, 'Demo public'), refresh_token)).status
    await service.dev.setAccess({ billing: { other: 'inactive' } })
  })
  const { tenants } = await readSeedRows(exporting, 0)
  expect({ status, billing: tenants.find(({ id }) => id === 'other')?.billing_active }).toEqual({
    status: 200,
    billing: 1,
  })
})

test('a start on data of this version needs no lock that another process has', async () => {
  const { context } = await started()
  await transact(context.store.db, async (tx) => {
    await removeIdleTimeout(rawDatabase(tx))
    await replaceServiceKey(tx, 'seed', 'not committed')
    const { service } = await started()
    expect(service.people).not.toEqual([])
  })
})
