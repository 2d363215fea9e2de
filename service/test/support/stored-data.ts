import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import { type RawDatabase, rawDatabase } from '../../src/store/database.ts'
import { openStore, type StoreLocation } from '../../src/store/store.ts'
import { isOnPostgres } from './start.ts'

export interface StoredData {
  location(): StoreLocation
  /** Opens the data, does this to it, and closes it. */
  opened<T>(then: (db: RawDatabase) => Promise<T>): Promise<T>
}

/** Gives each test of a file data of its own, on the database of this run. */
export function storedData(): StoredData {
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
