import { createDatabase, startPostgres } from '../support/postgres-server.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startRedis } from '../support/redis-server.ts'
import { isFaultless, type StormRound, type StormSize, storm, stormSize } from '../support/storm.ts'
import type { Soak } from './index.ts'

/** Every session of four processes expires at once: each must be refreshed exactly once, every time. */
export async function soakStorms(
  kind: 'redis' | 'postgres',
  { rounds, onRound }: Parameters<Soak['run']>[0],
): Promise<string> {
  const ends: (() => void | Promise<void>)[] = []
  try {
    const server = await (kind === 'redis' ? startRedis() : startPostgres())
    ends.push(() => server.stop())
    const url = kind === 'redis' ? server.url : (await createDatabase(server.url)).url
    const size = { kind, url, ...stormSize, rounds }
    const seen = await storm((end) => ends.push(end), { ...size, onRound })
    checkFaultless(seen, size)
    return `${seen.length} rounds, one refresh a session in each, no failed request`
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

/** The least part of the throughput on one Redis that a Cluster must have. */
const leastShare = 0.8

/** The same on one Redis, then on a Cluster of three masters, with a fifth of the requests, so that the storage counts for more. */
export async function soakClusterStorms({ rounds, onRound }: Parameters<Soak['run']>[0]): Promise<string> {
  const ends: (() => void | Promise<void>)[] = []
  const perSecond = async (kind: 'redis' | 'cluster', url: string): Promise<number> => {
    const size = { kind, url, ...stormSize, requests: stormSize.requests / 5, rounds }
    const seen = await storm((end) => ends.push(end), { ...size, onRound })
    checkFaultless(seen, size)
    return seen.reduce((sum, { ok }) => sum + ok, 0) / (seen.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1_000)
  }
  try {
    const redis = await startRedis()
    ends.push(() => redis.stop())
    const cluster = await startRedisCluster({ nodeTimeoutMs: 15_000 })
    ends.push(() => cluster.stop())
    const one = await perSecond('redis', redis.url)
    const three = await perSecond('cluster', cluster.nodes.map(({ url }) => url).join(' '))
    const says = `${rounds} rounds each, one refresh a session; ${Math.round(one)} calls/s on one Redis, ${Math.round(three)} on the Cluster (${(three / one).toFixed(2)} ×)`
    if (three < leastShare * one) throw new Error(`${says}, less than ${leastShare} ×`)
    return says
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

function checkFaultless(
  seen: readonly StormRound[],
  size: Pick<StormSize, 'processes' | 'sessions' | 'requests'>,
): void {
  const wrong = seen.filter((round) => !isFaultless(round, size))
  if (wrong.length > 0) throw new Error(`${wrong.length} rounds with a fault: ${JSON.stringify(wrong.slice(0, 5))}`)
}
