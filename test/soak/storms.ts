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

/** How many rounds one of the two has before the other one has as many, so that other work of the machine strikes both. */
const roundsInTurn = 2

/**
 * The same on one Redis and on a Cluster of three masters by turns. It sends a fifth of the requests, so that the storage counts for
 * more, and a quarter at once, because a busy machine would fill the queue of the service.
 */
export async function soakClusterStorms({ rounds, onRound }: Parameters<Soak['run']>[0]): Promise<string> {
  const ends: (() => void | Promise<void>)[] = []
  const seen: Record<'redis' | 'cluster', StormRound[]> = { redis: [], cluster: [] }
  const turn = async (kind: 'redis' | 'cluster', url: string): Promise<void> => {
    const inTurn = Math.min(roundsInTurn, rounds - seen[kind].length)
    const size = { kind, url, ...stormSize, requests: stormSize.requests / 5, callsAtOnce: 25, rounds: inTurn }
    const own: (() => void | Promise<void>)[] = []
    try {
      seen[kind].push(...(await storm((end) => own.push(end), size)))
    } finally {
      for (const end of own.reverse()) await end()
    }
    checkFaultless(seen[kind], size)
    onRound(seen.redis.length + seen.cluster.length, 2 * rounds)
  }
  try {
    const redis = await startRedis()
    ends.push(() => redis.stop())
    const cluster = await startRedisCluster({ nodeTimeoutMs: 15_000 })
    ends.push(() => cluster.stop())
    while (seen.cluster.length < rounds) {
      await turn('redis', redis.url)
      await turn('cluster', cluster.nodes.map(({ url }) => url).join(' '))
    }
    const [one, three] = [perSecond(seen.redis), perSecond(seen.cluster)]
    const says = `${rounds} rounds each, one refresh a session; ${Math.round(one)} calls/s on one Redis, ${Math.round(three)} on the Cluster (${(three / one).toFixed(2)} ×)`
    if (three < leastShare * one) throw new Error(`${says}, less than ${leastShare} ×`)
    return says
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

function perSecond(seen: readonly StormRound[]): number {
  return seen.reduce((sum, { ok }) => sum + ok, 0) / (seen.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1_000)
}

function checkFaultless(
  seen: readonly StormRound[],
  size: Pick<StormSize, 'processes' | 'sessions' | 'requests'>,
): void {
  const wrong = seen.filter((round) => !isFaultless(round, size))
  if (wrong.length > 0) throw new Error(`${wrong.length} rounds with a fault: ${JSON.stringify(wrong.slice(0, 5))}`)
}
