import { createDatabase, startPostgres } from '../test/support/postgres-server.ts'
import { startRedis } from '../test/support/redis-server.ts'
import { isFaultless, type StormRound, storm, stormSize } from '../test/support/storm.ts'

const size = { ...stormSize, rounds: 20 }

/** Every session of four processes expires at once, over Redis and over PostgreSQL: each must be refreshed exactly once. */
export async function storms(): Promise<boolean> {
  const { processes, sessions, requests, rounds } = size
  process.stdout.write(
    `${processes} processes x ${requests} requests x ${sessions} sessions at expiry, ${rounds} rounds\n`,
  )
  const ends: (() => void | Promise<void>)[] = []
  try {
    const redis = await startRedis()
    ends.push(() => redis.stop())
    const onRedis = await measured('redis', redis.url, ends)
    const postgres = await startPostgres()
    ends.push(() => postgres.stop())
    return (await measured('postgres', (await createDatabase(postgres.url)).url, ends)) && onRedis
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function measured(
  kind: 'redis' | 'postgres',
  url: string,
  ends: (() => void | Promise<void>)[],
): Promise<boolean> {
  const onRound = (round: number): void => void process.stderr.write(`${kind}: round ${round} of ${size.rounds}\n`)
  const rounds = await storm((end) => ends.push(end), { kind, url, ...size, onRound })
  const wanted = size.processes * size.sessions * size.requests
  const good = rounds.filter((round) => isFaultless(round, size))
  const most = (member: 'refreshes' | 'reused' | 'ended'): number => Math.max(...rounds.map((round) => round[member]))
  const seconds = rounds.reduce((total, { tookMs }) => total + tookMs, 0) / 1_000
  process.stdout.write(
    `${kind.padEnd(9)} rounds without fault ${good.length} of ${rounds.length}, refreshes a session ${most('refreshes') / size.sessions} at most,` +
      ` failed requests ${failed(rounds)}, ${Math.round((wanted * rounds.length) / seconds)} requests/s\n`,
  )
  return good.length === rounds.length
}

function failed(rounds: readonly StormRound[]): string {
  const reasons = rounds.flatMap(({ failures }) => Object.entries(failures))
  return reasons.length === 0 ? '0' : JSON.stringify(reasons)
}
