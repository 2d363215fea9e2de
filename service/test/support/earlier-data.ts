import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach } from 'vitest'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import type { RawDatabase } from '../../src/store/database.ts'
import { rawDatabase } from '../../src/store/database.ts'
import type { StoreLocation } from '../../src/store/engine/open-engine.ts'
import { openStore } from '../../src/store/store.ts'
import type { NewParentAgent } from '../../src/store/tables/tenant/parent-agents.ts'
import { isOnPostgres } from './start.ts'

export interface EarlierData {
  location(): StoreLocation
  /** Opens the data, does this to it, and closes it. */
  opened<T>(then: (db: RawDatabase) => Promise<T>): Promise<T>
}

/** Gives each test of a file data of its own, on the database of this run. */
export function earlierData(): EarlierData {
  let location: StoreLocation
  let remove: () => Promise<void>
  beforeEach(async () => {
    if (isOnPostgres()) {
      const { url, drop } = await freshDatabase()
      location = { dataFile: undefined, databaseUrl: url }
      remove = drop
    } else {
      const folder = await mkdtemp(join(tmpdir(), 'agent-service-migrations-'))
      location = { dataFile: join(folder, 'data.db'), databaseUrl: undefined }
      remove = () => rm(folder, { recursive: true })
    }
  })
  afterEach(() => remove())
  return {
    location: () => location,
    async opened(then) {
      const store = await openStore(location)
      return then(rawDatabase(store.db)).finally(() => store.close())
    },
  }
}

export const agent: Omit<NewParentAgent, 'llm_model'> = {
  parent_agent_type: 'T',
  parent_agent_type_key: 't',
  agent_key: 'ας',
  agent_name: 'ΑΣ',
  full_display_name: 'ΑΣ (T)',
  display_name: 'ΑΣ',
  description: 'one\ntwo',
  configs: '{}',
  active: 1,
  state_function: '[]',
  created_ms: 0,
}

export async function dropTrigrams(db: RawDatabase): Promise<void> {
  await sql`drop table agent_trigrams`.execute(db)
  await db.schema.dropIndex('parent_agents_without_trigrams').execute()
  await db.schema.alterTable('parent_agents').dropColumn('has_trigrams').execute()
}

/** What the tests of earlier versions take away has no origins and no trigrams either. */
export async function dropNewest(db: RawDatabase): Promise<void> {
  await dropTrigrams(db)
  await db.schema.dropIndex('redirect_uris_by_origin').execute()
  await db.schema.alterTable('client_redirect_uris').dropColumn('page_origin').execute()
}
