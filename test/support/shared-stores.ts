import { randomUUID } from 'node:crypto'
import { fileStorage } from 'agent-auth/node'
import { type PostgresPool, postgresStorage } from 'agent-auth/postgres'
import { type IoRedisClient, type NodeRedisClient, redisStorage, type SharedStorage } from 'agent-auth/redis'
import type { Cluster, Redis } from 'ioredis'
import type pg from 'pg'
import { withWait } from '../../docs/snippets/redis-wait.ts'

// Each client is loaded when it is used: together they take half a second of the processor in every process of a test.

/** A storage on a connection of its own. */
export interface Connected<Client> {
  readonly storage: SharedStorage
  readonly client: Client
  close(): Promise<void>
}

/** What processes share records in. */
export type StoreKind = 'redis' | 'cluster' | 'postgres' | 'file'

/**
 * Connects to a storage of this kind. The URL of a file is its path, and the prefix is that of Redis. A Cluster has the URLs of its nodes
 * with spaces between.
 */
export async function connectTo(kind: StoreKind, url: string, prefix?: string): Promise<Connected<unknown>> {
  if (kind === 'file') return { storage: fileStorage(url), client: undefined, close: async () => {} }
  if (kind === 'cluster') return onIoRedisCluster(addressesOf(url), prefix)
  return kind === 'redis' ? onIoRedis(url, prefix) : onPostgres(url)
}

/** Client errors are seen at the calls they fail; without a listener they would end the process. */
const ignore = (): void => {}

export async function onIoRedis(url: string, prefix: string = randomUUID()): Promise<Connected<Redis>> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, { retryStrategy: () => 50 })
  client.on('error', ignore)
  return {
    client,
    storage: redisStorage(client satisfies IoRedisClient, { prefix }),
    close: async () => client.disconnect(),
  }
}

export async function onNodeRedis(url: string, prefix: string = randomUUID()): Promise<Connected<NodeRedisClient>> {
  const { createClient } = await import('redis')
  const client = createClient({ url, socket: { reconnectStrategy: 50 } })
  client.on('error', ignore)
  await client.connect()
  return {
    client: client satisfies NodeRedisClient,
    storage: redisStorage(client, { prefix }),
    close: async () => client.destroy(),
  }
}

/** A node of a Redis Cluster that a client can begin with. */
export interface ClusterAddress {
  readonly host: string
  readonly port: number
}

function addressesOf(urls: string): ClusterAddress[] {
  return urls.split(' ').map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) }))
}

export async function onIoRedisCluster(
  addresses: readonly ClusterAddress[],
  prefix: string = randomUUID(),
): Promise<Connected<Cluster>> {
  const { Cluster } = await import('ioredis')
  const client = new Cluster([...addresses])
  client.on('error', ignore)
  return {
    client,
    storage: redisStorage(client satisfies IoRedisClient, { prefix }),
    close: async () => client.disconnect(),
  }
}

async function nodeRedisCluster(addresses: readonly ClusterAddress[]) {
  const { createCluster } = await import('redis')
  const cluster = createCluster({ rootNodes: addresses.map(({ host, port }) => ({ url: `redis://${host}:${port}` })) })
  cluster.on('error', ignore)
  await cluster.connect()
  return cluster
}

export async function onNodeRedisCluster(
  addresses: readonly ClusterAddress[],
  prefix: string = randomUUID(),
): Promise<Connected<NodeRedisClient>> {
  const client = await nodeRedisCluster(addresses)
  return {
    client: client satisfies NodeRedisClient,
    storage: redisStorage(client, { prefix }),
    close: async () => client.destroy(),
  }
}

/**
 * The same with `WAIT 1 1000` after each script: it rejects if no replica has the writes of its connection within a second. This is
 * the client of docs/storage.md.
 */
export async function onNodeRedisClusterWithWait(
  addresses: readonly ClusterAddress[],
  prefix: string = randomUUID(),
): Promise<Connected<NodeRedisClient>> {
  const cluster = await nodeRedisCluster(addresses)
  const client = withWait(cluster)
  return { client, storage: redisStorage(client, { prefix }), close: async () => cluster.destroy() }
}

export async function onPostgres(url: string, options: pg.PoolConfig = {}): Promise<Connected<pg.Pool>> {
  const { default: pg } = await import('pg')
  return onPool(new pg.Pool({ connectionString: url, max: 4, ...options }))
}

export function onPool(client: pg.Pool): Connected<pg.Pool> {
  client.on('error', ignore)
  return { client, storage: postgresStorage(client satisfies PostgresPool), close: () => client.end() }
}
