import { afterAll, beforeAll } from 'vitest'
import { freshDatabase } from './fresh-database.ts'
import type { FreshDatabase } from './postgres-server.ts'

/** An empty database from before the tests of a file until after them. */
export function databaseOfFile(): { readonly url: string } {
  let database: FreshDatabase | undefined
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())
  return {
    get url() {
      return database?.url ?? ''
    },
  }
}
