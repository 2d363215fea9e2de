import { createDatabase, startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import { isFaultless, storm, stormSize } from '../support/storm.ts'
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
    const wrong = seen.filter((round) => !isFaultless(round, size))
    if (wrong.length > 0) throw new Error(`${wrong.length} rounds with a fault: ${JSON.stringify(wrong.slice(0, 5))}`)
    return `${seen.length} rounds, one refresh a session in each, no failed request`
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
