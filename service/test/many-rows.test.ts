import { expect, onTestFinished, test } from 'vitest'
import { rawDatabase } from '../src/store/database.ts'
import { insertTenants } from '../src/store/tables/tenants.ts'
import { assemble } from './start.ts'

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
  const { models } = context.store.forTenant('t1')
  await models.createAll(
    Array.from({ length: 5_500 }, (_, index) => {
      return { id: 1_000 + index, model_name: `M${index}`, model_version: '1', provider: 'p' }
    }),
  )
  expect((await models.search(modelSearch)).count).toBe(5_500)
})
