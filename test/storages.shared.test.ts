import { randomUUID } from 'node:crypto'
import type { StorageUnderTest } from 'agent-auth/testing'
import { afterAll, beforeAll, describe } from 'vitest'
import { storageSuite } from './storage-suite.ts'
import { freshDatabase } from './support/fresh-database.ts'
import type { FreshDatabase } from './support/postgres-server.ts'
import { serverUrl } from './support/servers-client.ts'
import { type Connected, onIoRedis, onNodeRedis, onPostgres } from './support/shared-stores.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

/** Every handle has a connection of its own, as if it were another machine. */
function onConnections(connect: () => Promise<Connected<unknown>> | Connected<unknown>): StorageUnderTest {
  const connections: Connected<unknown>[] = []
  return {
    async handle() {
      const connected = await connect()
      connections.push(connected)
      return connected.storage
    },
    async close() {
      await Promise.all(connections.map((each) => each.close()))
    },
  }
}

describe('a Redis that both clients share', { tags: ['redis'] }, () => {
  let redis: string
  beforeAll(async () => {
    redis = await serverUrl('redis')
  })

  storageSuite('redisStorage with ioredis', () => {
    const prefix = randomUUID()
    return onConnections(() => onIoRedis(redis, prefix))
  })

  storageSuite('redisStorage with node-redis', () => {
    const prefix = randomUUID()
    return onConnections(() => onNodeRedis(redis, prefix))
  })
})

storageSuite('postgresStorage with pools of one connection', async () => {
  const cleaning = onPostgres(database.url)
  await cleaning.storage.ready()
  await cleaning.client.query('truncate agent_auth_records')
  await cleaning.close()
  return onConnections(() => onPostgres(database.url, { max: 1 }))
})
