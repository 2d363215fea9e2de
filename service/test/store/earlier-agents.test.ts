// @module-tag database

import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openStore } from '../../src/store/store.ts'
import { candidates, fewCandidates } from '../../src/store/tables/tenant/candidates.ts'
import { llmModelsOf } from '../../src/store/tables/tenant/llm-models.ts'
import { parentAgentsOf } from '../../src/store/tables/tenant/parent-agents.ts'
import { agent, dropTrigrams, earlierData } from '../support/earlier-data.ts'
import { isOnPostgres } from '../support/start.ts'

const data = earlierData()
const { opened } = data

test('a start adds the agents of earlier versions to the index of texts, and data that may not be migrated stay as they are', async () => {
  await opened(async (db) => {
    await db.insertInto('tenants').values({ id: 't', name: 'T', active: 1, billing_active: 1 }).execute()
    const models = llmModelsOf(db, 't')
    await models.createAll([{ model_name: 'M', model_version: '1', provider: 'p' }])
    const llm_model = await models.firstId()
    const agents = Array.from({ length: 1_100 }, (_, index) => ({ ...agent, agent_key: `key ${index}`, llm_model }))
    await parentAgentsOf(db, 't').createAll(agents)
    await sql`delete from kysely_migration where name >= '010'`.execute(db)
    await dropTrigrams(db)
  })
  await expect(openStore(data.location(), { migrations: 'refuse' })).rejects.toThrow(/older version/)
  const search = {
    limit: 5,
    offset: 0,
    searchValue: 'key 1099',
    filter: { kind: 'all' as const, filters: [] },
    sort: [],
  }
  const { found, left } = await opened(async (db) => {
    const steps = { tenantId: 't', search, pause: async () => {} }
    const left = isOnPostgres() ? await fewCandidates(db, steps) : (await candidates(db, steps)).ids
    return { found: await parentAgentsOf(db, 't').search(search), left }
  })
  expect({ keys: found.rows.map(({ agent_key }) => agent_key), left: left?.length }).toEqual({
    keys: ['key 1099'],
    left: 1,
  })
})
