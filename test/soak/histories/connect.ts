import { redisStorage } from 'agent-auth/redis'
import { Cluster } from 'ioredis'
import {
  type Connected,
  connectTo,
  onIoRedisCluster,
  onNodeRedisCluster,
  onNodeRedisClusterWithWait,
} from '../../support/shared-stores.ts'
import type { WorkerTask } from './task.ts'

/** Connects a worker to its storage. */
export async function connectWorker({ kind, urls, prefix }: WorkerTask): Promise<Connected<unknown>> {
  const addresses = urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) }))
  switch (kind) {
    case 'ioredis cluster':
      return onIoRedisCluster(addresses, prefix)
    case 'node-redis cluster':
      return onNodeRedisCluster(addresses, prefix)
    case 'ioredis cluster, replicas':
      return onReplicas(addresses, prefix)
    case 'node-redis cluster, WAIT':
      return onNodeRedisClusterWithWait(addresses, prefix)
    default:
      return connectTo(kind, urls[0] ?? '', prefix)
  }
}

function onReplicas(addresses: { host: string; port: number }[], prefix: string): Connected<Cluster> {
  const client = new Cluster(addresses, { scaleReads: 'slave' })
  client.on('error', () => {})
  return { client, storage: redisStorage(client, { prefix }), close: async () => client.disconnect() }
}
