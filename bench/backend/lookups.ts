import { Redis } from 'ioredis'
import { startRedis } from '../../test/support/redis-server.ts'
import { type Person, signedIn } from './people.ts'
import { line, quietest } from './rounds.ts'

const target = 0.8
const parallel = 16
const times = 4_000

/** A session's record through `redisStorage`, against a `GET` of the same key through the same client. */
export async function lookups(): Promise<boolean> {
  const redis = await startRedis()
  const client = new Redis(redis.url)
  try {
    const { backend, sessions, people } = await signedIn(times, 'https://api.example.com', ({ redisStorage }) =>
      redisStorage(client),
    )
    // Few enough for all of them to stay in memory.
    const few = people.slice(0, 500)
    const lookUp = async ({ headers }: Person): Promise<unknown> => {
      const session = await backend.getSession({ headers: new Headers(headers) })
      if (session.status === 'signed-out') throw new Error('A session was not found.')
      return session
    }
    const ms = await quietest(
      {
        get: () => each(people, async ({ name }) => (await client.get(`{${name}}`)) ?? missing()),
        record: () => each(people, async ({ name }) => (await sessions.getItem(name)) ?? missing()),
        elsewhere: () => each(people, lookUp),
        atHand: () => each(few, lookUp),
      },
      15,
    )
    const show = (name: string, tookMs: number): void =>
      line(name, `${perSecond(tookMs)}, ${(ms.get / tookMs).toFixed(2)} x`)
    line('GET of Redis', perSecond(ms.get))
    show('  record through redisStorage', ms.record)
    line('  target', `at least ${target} x`)
    show('  getSession, session at hand', ms.atHand)
    show('  getSession, session elsewhere', ms.elsewhere)
    return ms.get / ms.record >= target
  } finally {
    client.disconnect()
    await redis.stop()
  }
}

async function each(people: readonly Person[], task: (person: Person) => Promise<unknown>): Promise<void> {
  let at = 0
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (at < times) await task(people[at++ % people.length] ?? missing())
    }),
  )
}

function missing(): never {
  throw new Error('A record is missing.')
}

function perSecond(tookMs: number): string {
  return `${Math.round((times * 1_000) / tookMs).toLocaleString('en-US')}/s`
}
