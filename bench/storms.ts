import { createDatabase, startPostgres } from '../test/support/postgres-server.ts'
import { startRedis } from '../test/support/redis-server.ts'
import { isFaultless, type StormRound, storm, stormSize } from '../test/support/storm.ts'
import type { Figure, Size } from './figures.ts'

const sizes = { whole: { ...stormSize, rounds: 20 }, short: { processes: 2, sessions: 2, requests: 5, rounds: 1 } }
type StormOfSize = (typeof sizes)['whole'] | (typeof sizes)['short']

/** Every session of four processes expires at once, over Redis and over PostgreSQL: each must be refreshed exactly once. */
export async function storms(size: Size): Promise<Figure[]> {
  const ends: (() => void | Promise<void>)[] = []
  try {
    const redis = await startRedis()
    ends.push(() => redis.stop())
    const onRedis = await measured({ kind: 'redis', url: redis.url }, sizes[size], ends)
    const postgres = await startPostgres()
    ends.push(() => postgres.stop())
    const { url } = await createDatabase(postgres.url)
    return [...onRedis, ...(await measured({ kind: 'postgres', url }, sizes[size], ends))]
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function measured(
  { kind, url }: { kind: 'redis' | 'postgres'; url: string },
  size: StormOfSize,
  ends: (() => void | Promise<void>)[],
): Promise<Figure[]> {
  const onRound = (round: number): void => void process.stderr.write(`${kind}: round ${round} of ${size.rounds}\n`)
  const rounds = await storm((end) => ends.push(end), { kind, url, ...size, onRound })
  const sent = size.processes * size.sessions * size.requests
  const good = rounds.filter((round) => isFaultless(round, size)).length
  const refreshes = Math.max(...rounds.map((round) => round.refreshes)) / size.sessions
  const seconds = rounds.reduce((total, { tookMs }) => total + tookMs, 0) / 1_000
  const title = kind === 'redis' ? 'Redis' : 'PostgreSQL'
  const name = `${title}, rounds without a fault of ${size.rounds}`
  return [
    { name, value: good, unit: 'rounds', target: { least: size.rounds } },
    {
      name: `${title}, most refreshes of a session in a round`,
      value: refreshes,
      unit: 'refreshes',
      target: { most: 1 },
    },
    { name: `${title}, requests that failed`, value: failed(rounds), unit: 'requests', target: { most: 0 } },
    { name: `${title}, requests`, value: (sent * rounds.length) / seconds, unit: 'per second' },
  ]
}

function failed(rounds: readonly StormRound[]): number {
  const counts = rounds.flatMap(({ failures }) => Object.entries(failures))
  for (const [reason, count] of counts) process.stderr.write(`failed: ${reason}, ${count} times\n`)
  return counts.reduce((sum, [, count]) => sum + count, 0)
}
