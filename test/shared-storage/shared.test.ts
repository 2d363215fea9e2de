import { randomUUID } from 'node:crypto'
import { postgresStorage } from 'agent-auth/postgres'
import { redisStorage, type SharedStorage } from 'agent-auth/redis'
import type { StorageUnderTest } from 'agent-auth/testing'
import { beforeAll, describe, test } from 'vitest'
import { storageSuite } from '../storage/storage-suite.ts'
import type { AtEnd } from '../support/children.ts'
import { databaseOfFile } from '../support/database-of-file.ts'
import { serverUrl } from '../support/servers-client.ts'
import { type Connected, onIoRedis, onNodeRedis, onPostgres } from '../support/shared-stores.ts'

const database = databaseOfFile()

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
  const cleaning = await onPostgres(database.url)
  await cleaning.storage.ready()
  await cleaning.client.query('truncate agent_auth_records')
  await cleaning.close()
  return onConnections(() => onPostgres(database.url, { max: 1 }))
})

/** Two storages over the same records; what the first sends arrives when the way is open. */
const pairs: Record<
  string,
  (atEnd: AtEnd, arrive: () => Promise<void>) => Promise<[delayed: SharedStorage, direct: SharedStorage]>
> = {
  async ioredis(atEnd, arrive) {
    const prefix = randomUUID()
    const { client, storage, close } = await onIoRedis(await serverUrl('redis'), prefix)
    atEnd(close)
    const delayed = {
      get: (key: string) => arrive().then(() => client.get(key)),
      eval: (script: string, count: number, ...args: string[]) =>
        arrive().then(() => client.eval(script, count, ...args)),
    }
    return [redisStorage(delayed, { prefix }), storage]
  },
  async 'node-redis'(atEnd, arrive) {
    const prefix = randomUUID()
    const { client, storage, close } = await onNodeRedis(await serverUrl('redis'), prefix)
    atEnd(close)
    const delayed = {
      isOpen: true,
      get: (key: string) => arrive().then(() => client.get(key)),
      eval: (script: string, options: { keys: string[]; arguments: string[] }) =>
        arrive().then(() => client.eval(script, options)),
    }
    return [redisStorage(delayed, { prefix }), storage]
  },
  async postgres(atEnd, arrive) {
    const { client, storage, close } = await onPostgres(database.url)
    atEnd(close)
    return [postgresStorage({ query: (text, values) => arrive().then(() => client.query(text, values)) }), storage]
  },
}

// Deadlines are real time: the tests wait for them side by side.
for (const [kind, pair] of Object.entries(pairs))
  describe.concurrent(`records shared through ${kind}`, { tags: ['redis'] }, () => {
    // A connection that hangs keeps what was sent, and delivers it when it is back.
    test.for([0, 1])(
      'a removal that was given up at its step %i removes nothing that was written since',
      async (stepsBefore, { expect, onTestFinished }) => {
        const name = randomUUID()
        let stepsLeft = Number.POSITIVE_INFINITY
        const waiting: (() => void)[] = []
        const [delayed, direct] = await pair(onTestFinished, () =>
          stepsLeft-- > 0 ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve)),
        )
        await delayed.setItem(name, 'old')
        for (let attempt = 0; waiting.length === 0; attempt++) {
          expect(attempt).toBeLessThan(10)
          stepsLeft = stepsBefore
          await expect(delayed.removeItem(name)).rejects.toMatchObject({ code: 'storage_failed', retryable: true })
          // If its first step took too long, it was given up before the second one, and nothing waits.
        }
        await direct.setItem(name, 'new')
        stepsLeft = Number.POSITIVE_INFINITY
        expect(waiting).toHaveLength(1)
        waiting[0]?.()
        // After all that still follows on the same connection.
        for (let read = 0; read < 10; read++) expect(await delayed.getItem(name)).toBe('new')
        await delayed.removeItem(name)
        expect(await direct.getItem(name)).toBeNull()
      },
    )

    test('a removal that is still waited for takes what was written meanwhile', async ({ expect, onTestFinished }) => {
      const name = randomUUID()
      let meanwhile: (() => Promise<void>) | undefined
      let steps = 0
      const [delayed, direct] = await pair(onTestFinished, async () => {
        if (++steps === 2) await meanwhile?.()
      })
      await direct.setItem(name, 'old')
      meanwhile = () => direct.setItem(name, 'new')
      await delayed.removeItem(name)
      expect(await direct.getItem(name)).toBeNull()
    })

    test('lone surrogates in keys and values stay apart and come back', async ({ expect, onTestFinished }) => {
      const [storage] = await pair(onTestFinished, () => Promise.resolve())
      const name = randomUUID()
      const texts = ['\ud800', '\udfff', '\ufffd', 'x\ud800', 'x\ufffd', '\ud83d\ude00', '\0json:"\\ud800"', '\0json:']
      for (const text of texts) await storage.setItem(name + text, text)
      for (const text of texts) expect(await storage.getItem(name + text)).toBe(text)
      for (const text of texts) await storage.withLock(name + text, async () => storage.removeItem(name + text))
      for (const text of texts) expect(await storage.getItem(name + text)).toBeNull()
    })
  })
