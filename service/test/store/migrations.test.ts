// @module-tag database

// Also tests service/src/store/migrate.ts, service/src/store/migrations/001-api.ts, service/src/store/migrations/001-auth.ts,
// service/src/store/migrations/002-secret-times.ts, service/src/store/migrations/003-registry-events.ts,
// service/src/store/migrations/005-search-text.ts, service/src/store/migrations/006-names-as-sent.ts,
// service/src/store/migrations/007-requests-by-session.ts, service/src/store/migrations/008-carried-requests.ts,
// service/src/store/migrations/009-page-origins.ts.
import { Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import type { RawDatabase } from '../../src/store/database.ts'
import { opaqueDatabase } from '../../src/store/database.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { openStore } from '../../src/store/store.ts'
import { isRegisteredOrigin } from '../../src/store/tables/clients.ts'
import { clientRegistryOf } from '../../src/store/tables/tenant/client-registry.ts'
import { llmModelsOf } from '../../src/store/tables/tenant/llm-models.ts'
import { parentAgentsOf } from '../../src/store/tables/tenant/parent-agents.ts'
import { agent, dropNewest, earlierData } from '../support/earlier-data.ts'

const searchIndexes = ['name', 'type', 'model', 'activity', 'activity_and_name'].map((by) => `parent_agents_by_${by}`)
const names = [
  '001-first-tables',
  '002-secret-times',
  '003-registry-events',
  '004-search-indexes',
  '005-search-text',
  '006-names-as-sent',
  '007-requests-by-session',
  '008-carried-requests',
  '009-page-origins',
  '010-agent-trigrams',
]

const data = earlierData()
const { opened } = data

const done = (): Promise<string[]> =>
  opened(async (db) => {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
    return rows.map(({ name }) => name)
  })

async function searchTexts(db: RawDatabase): Promise<string[]> {
  const agents = await db.selectFrom('parent_agents').select('search_text').execute()
  const models = await db.selectFrom('llm_models').select('search_text').execute()
  return [...agents, ...models].map(({ search_text }) => search_text)
}

test('empty data gets every table, and data that has them is left as it is', async () => {
  expect(await done()).toEqual(names)
  await opened((db) => sql`drop table registry_events`.execute(db))
  // Nobody looks at the tables of data that says it is up to date.
  await expect(opened((db) => sql`select * from registry_events`.execute(db))).rejects.toThrow(/registry_events/)
  expect(await done()).toEqual(names)
})

test('a start that fails between two tables leaves no table behind, so that the next one succeeds', async () => {
  const engine = await openEngine(data.location())
  const inTheWay = new Kysely<unknown>({ dialect: engine.kyselyDialect })
  await inTheWay.schema.createTable('session_tokens').addColumn('id', 'text').execute()
  await expect(openStore(data.location())).rejects.toThrow('the database could not be brought up to date')
  await inTheWay.schema.dropTable('session_tokens').execute()
  await inTheWay.destroy()
  expect(await done()).toEqual(names)
})

test('data of an earlier version is brought up to date', async () => {
  await opened(async (db) => {
    await sql`drop table registry_events`.execute(db)
    await sql`delete from kysely_migration where name >= '003'`.execute(db)
    await db.schema.alterTable('parent_agents').dropColumn('name_as_sent').execute()
    for (const name of [...searchIndexes, 'requests_by_session']) await db.schema.dropIndex(name).execute()
    await db.schema.alterTable('authorization_requests').dropColumn('carried').execute()
    await dropNewest(db)
  })
  expect(await done()).toEqual(names)
  expect(await opened((db) => db.selectFrom('registry_events').selectAll().execute())).toEqual([])
})

test('what earlier versions wrote is found like what this one writes', async () => {
  const written = await opened(async (db) => {
    await db.insertInto('tenants').values({ id: 't', name: 'T', active: 1, billing_active: 1 }).execute()
    const models = llmModelsOf(db, 't')
    await models.createAll([{ model_name: 'ΑΣ', model_version: '1', provider: 'ΑΣΑ' }])
    await parentAgentsOf(db, 't').createAll([{ ...agent, llm_model: await models.firstId() }])
    const now = await searchTexts(db)
    await sql`update llm_models set search_text = ${'ας\n1\nασα'}`.execute(db)
    await sql`update parent_agents set search_text = ${'ας\nας\nας\none\ntwo'}`.execute(db)
    await sql`delete from kysely_migration where name >= '005'`.execute(db)
    await db.schema.dropIndex('requests_by_session').execute()
    await db.schema.alterTable('authorization_requests').dropColumn('carried').execute()
    await dropNewest(db)
    await db.schema.alterTable('parent_agents').dropColumn('name_as_sent').execute()
    return now
  })
  expect(await opened(searchTexts)).toEqual(written)
})

test('names of earlier versions are returned as they were, and their text is found by its NFC', async () => {
  await opened(async (db) => {
    await db.insertInto('tenants').values({ id: 't', name: 'T', active: 1, billing_active: 1 }).execute()
    const models = llmModelsOf(db, 't')
    await models.createAll([{ model_name: 'M', model_version: '1', provider: 'p' }])
    await parentAgentsOf(db, 't').createAll([
      { ...agent, llm_model: await models.firstId(), description: 'cafe\u0301' },
    ])
    await sql`update parent_agents set search_text = ${'ας\nας\nας\ncafe\u0301'}`.execute(db)
    await sql`delete from kysely_migration where name >= '006'`.execute(db)
    await db.schema.dropIndex('requests_by_session').execute()
    await db.schema.alterTable('authorization_requests').dropColumn('carried').execute()
    await dropNewest(db)
    await db.schema.alterTable('parent_agents').dropColumn('name_as_sent').execute()
  })
  const search = {
    limit: 1,
    offset: 0,
    searchValue: 'caf\u00e9',
    filter: { kind: 'all' as const, filters: [] },
    sort: [],
  }
  const { rows } = await opened((db) => parentAgentsOf(db, 't').search(search))
  expect(rows.map(({ agent_name, description }) => ({ name: agent_name, description }))).toEqual([
    { name: 'ΑΣ', description: 'cafe\u0301' },
  ])
})

test('pages of the clients of an earlier version are known', async () => {
  await opened(async (db) => {
    await db.insertInto('tenants').values({ id: 't', name: 'T', active: 1, billing_active: 1 }).execute()
    for (const kind of ['public', 'confidential'] as const) {
      const redirectUris = [`http://127.0.0.1:1/${kind}`, `https://${kind}.example:443/cb`]
      await clientRegistryOf(opaqueDatabase(db), 't').create({ id: kind, name: kind, kind, redirectUris })
    }
    await sql`delete from kysely_migration where name >= '009'`.execute(db)
    await dropNewest(db)
  })
  const origins = ['http://127.0.0.1:1', 'http://127.0.0.1:2', 'https://public.example', 'https://confidential.example']
  const known = await opened((db) => {
    const isKnown = (clientId: string) =>
      Promise.all(origins.map((origin) => isRegisteredOrigin(opaqueDatabase(db), origin, clientId)))
    return Promise.all(['public', 'confidential'].map(isKnown))
  })
  expect(known).toEqual([
    [true, true, true, false],
    [true, false, false, true],
  ])
})
