import { createDatabase, startPostgres } from '../test/support/postgres-server.ts'
import { startRedis } from '../test/support/redis-server.ts'
import { isFaultless, storm, stormSize } from '../test/support/storm.ts'
import type { Figure } from './figures.ts'

const rounds = 10

/** Every session of four processes expires at once, over Redis and over PostgreSQL: each must be refreshed exactly once. */
export async function storms(): Promise<Figure[]> {
  const redis = await startRedis()
  const postgres = await startPostgres()
  try {
    const { url } = await createDatabase(postgres.url)
    return [
      ...(await measured('storm over Redis', 'redis', redis.url)),
      ...(await measured('storm over PostgreSQL', 'postgres', url)),
    ]
  } finally {
    await Promise.all([redis.stop(), postgres.stop()])
  }
}

async function measured(title: string, kind: 'redis' | 'postgres', url: string): Promise<Figure[]> {
  const ends: (() => void | Promise<void>)[] = []
  try {
    const seen = await storm((end) => ends.push(end), { kind, url, ...stormSize, rounds })
    const good = seen.filter((round) => isFaultless(round, stormSize)).length
    const seconds = seen.reduce((total, { tookMs }) => total + tookMs, 0) / 1_000
    const sent = stormSize.processes * stormSize.sessions * stormSize.requests * rounds
    return [
      { name: `${title}: rounds without a fault`, value: good, unit: `of ${rounds}`, target: { least: rounds } },
      { name: `${title}: requests`, value: sent / seconds, unit: 'per second' },
    ]
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
