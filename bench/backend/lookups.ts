import { Redis } from 'ioredis'
import { startRedis } from '../../test/support/redis-server.ts'
import { type Person, signedIn } from './people.ts'
import { line, quietest } from './rounds.ts'

/** How many times the rate of `GET` each lookup has at least. */
const targets = { record: 0.8, atHand: 0.65, elsewhere: 0.25 }
const parallel = 16
const times = 4_000

/** A session's record through `redisStorage`, against a `GET` of the same key through the same client. */
export async function lookups(): Promise<boolean> {
  const redis = await startRedis()
  const client = new Redis(redis.url)
  try {
    const { backend, another, sessions, people } = await signedIn(
      times,
      'https://api.example.com',
      ({ redisStorage }) => redisStorage(client),
    )
    // Few enough for all of them to stay in memory, in a backend of their own, because the others would replace them.
    const few = people.slice(0, 500)
    const near = another()
    const requests = new Map(people.map((person) => [person, { headers: new Headers(person.headers) }]))
    const lookUp = async (from: typeof backend, person: Person): Promise<unknown> => {
      const session = await from.getSession(requests.get(person) ?? missing())
      if (session.status === 'signed-out') throw new Error('A session was not found.')
      return session
    }
    const ms = await quietest(
      {
        get: () => each(people, async ({ name }) => (await client.get(`{${name}}`)) ?? missing()),
        record: () => each(people, async ({ name }) => (await sessions.getItem(name)) ?? missing()),
        elsewhere: () => each(people, (person) => lookUp(backend, person)),
        atHand: () => each(few, (person) => lookUp(near, person)),
      },
      15,
    )
    const meets = (name: string, lookup: keyof typeof targets): boolean => {
      const ratio = ms.get / ms[lookup]
      const isMet = ratio >= targets[lookup]
      const wanted = `(target: at least ${targets[lookup]} x)${isMet ? '' : ' MISSED'}`
      line(name, `${perSecond(ms[lookup])}, ${ratio.toFixed(2)} x ${wanted}`)
      return isMet
    }
    line('GET of Redis', perSecond(ms.get))
    const results = [
      meets('  record through redisStorage', 'record'),
      meets('  getSession, session at hand', 'atHand'),
      meets('  getSession, session elsewhere', 'elsewhere'),
    ]
    return results.every(Boolean)
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
