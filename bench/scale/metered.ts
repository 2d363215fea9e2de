import { Redis } from 'ioredis'
import pg from 'pg'
import { postgresStorage } from '../../src/postgres/index.ts'
import { redisStorage, type SharedStorage } from '../../src/redis/index.ts'
import { createDatabase, startPostgres } from '../../test/support/postgres-server.ts'
import { startRedis } from '../../test/support/redis-server.ts'
import { type TcpProxy, tcpProxy } from '../../test/support/tcp-proxy.ts'

export type StoreKind = 'Redis' | 'PostgreSQL'

/** What went over the connections of a storage. */
export interface Traffic {
  /** Commands or statements that the client sent, each of which waits for a response. */
  readonly roundTrips: number
  /** Commands that Redis ran, those of scripts among them. For PostgreSQL the same as `roundTrips`. */
  readonly commands: number
  readonly sentBytes: number
  readonly receivedBytes: number
  /** Connections that are open at the end. */
  readonly connections: number
}

export interface MeteredStore {
  readonly kind: StoreKind
  readonly url: string
  readonly storage: SharedStorage
  /** Returns the storage of another process, over the same connections. */
  another(): SharedStorage
  /** Runs a task and returns what it sent and received. */
  measure(task: () => Promise<unknown>): Promise<Traffic>
  close(): Promise<void>
}

/** As the guides advise. */
const ttlMs = 30 * 24 * 3_600_000

interface Meter {
  roundTrips: number
  sentBytes: number
  receivedBytes: number
}

/** A storage on a server of its own, whose connections lead through a proxy that counts bytes. */
export async function meteredStore(kind: StoreKind): Promise<MeteredStore> {
  return kind === 'Redis' ? meteredRedis() : meteredPostgres()
}

async function meteredRedis(): Promise<MeteredStore> {
  const server = await startRedis()
  const { meter, way } = await countingWay(server.port)
  const client = new Redis(way.port)
  const admin = new Redis(server.url)
  const counted = {
    get: (key: string) => {
      meter.roundTrips += 1
      return client.get(key)
    },
    eval: (script: string, keyCount: number, ...rest: string[]) => {
      meter.roundTrips += 1
      return client.eval(script, keyCount, ...rest)
    },
  }
  await client.ping()
  const another = (): SharedStorage => redisStorage(counted, { ttlMs })
  return {
    kind: 'Redis',
    url: server.url,
    storage: another(),
    another,
    measure: (task) => measured(meter, way, task, () => commandsRun(admin)),
    async close() {
      for (const one of [client, admin]) one.disconnect()
      await way.close()
      await server.stop()
    },
  }
}

async function meteredPostgres(): Promise<MeteredStore> {
  const server = await startPostgres()
  const { url: direct } = await createDatabase(server.url)
  const url = new URL(direct)
  const { meter, way } = await countingWay(Number(url.port))
  url.port = String(way.port)
  const pool = new pg.Pool({ connectionString: url.href, max: 4 })
  const counted = {
    query: (text: string, values?: unknown[]) => {
      meter.roundTrips += 1
      return pool.query(text, values)
    },
  }
  const another = (): SharedStorage => postgresStorage(counted, { ttlMs })
  const storage = another()
  await storage.ready()
  return {
    kind: 'PostgreSQL',
    url: direct,
    storage,
    another,
    measure: (task) => measured(meter, way, task, async () => meter.roundTrips),
    async close() {
      await pool.end()
      await way.close()
      await server.stop()
    },
  }
}

async function countingWay(port: number): Promise<{ meter: Meter; way: TcpProxy }> {
  const meter: Meter = { roundTrips: 0, sentBytes: 0, receivedBytes: 0 }
  const way = await tcpProxy({
    target: () => port,
    filter: () => (data, from) => {
      meter[from === 'client' ? 'sentBytes' : 'receivedBytes'] += data.length
      return true
    },
  })
  return { meter, way }
}

async function measured(
  meter: Meter,
  way: TcpProxy,
  task: () => Promise<unknown>,
  commands: () => Promise<number>,
): Promise<Traffic> {
  const before = { ...meter, commands: await commands() }
  await task()
  const since = (name: 'roundTrips' | 'sentBytes' | 'receivedBytes'): number => meter[name] - before[name]
  return {
    roundTrips: since('roundTrips'),
    commands: (await commands()) - before.commands,
    sentBytes: since('sentBytes'),
    receivedBytes: since('receivedBytes'),
    connections: way.open.size,
  }
}

/** How many commands this Redis ran, but for those that ask it. */
async function commandsRun(admin: Redis): Promise<number> {
  const lines = (await admin.info('commandstats')).matchAll(/^cmdstat_(\w+)[^:]*:calls=(\d+)/gm)
  return [...lines].reduce((sum, [, name, calls]) => (name === 'info' ? sum : sum + Number(calls)), 0)
}
