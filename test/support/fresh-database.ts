import type { FreshDatabase } from './postgres-server.ts'
import { createDatabase } from './postgres-server.ts'
import { serverUrl } from './servers-client.ts'

/** An empty database on the run's own PostgreSQL, for one test or one file; drop it afterwards. */
export async function freshDatabase(): Promise<FreshDatabase> {
  return createDatabase(await serverUrl('postgres'))
}
