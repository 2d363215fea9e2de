import { Redis } from 'ioredis'
import { startRedis } from '../../test/support/redis-server.ts'
import type { Figure, Size } from '../figures.ts'
import { type Person, signedIn } from './people.ts'
import { quietest } from './rounds.ts'

/** How many times the rate of `GET` each lookup has at least. */
const targets = { record: 0.8, atHand: 0.65, elsewhere: 0.25 }
const parallel = 16
const sizes = { whole: { times: 4_000, rounds: 15 }, short: { times: 100, rounds: 1 } }

/** A session's record through `redisStorage`, against a `GET` of the same key through the same client. */
export async function lookups(size: Size): Promise<Figure[]> {
  const { times, rounds } = sizes[size]
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
        get: () => each(people, times, async ({ name }) => (await client.get(`{${name}}`)) ?? missing()),
        record: () => each(people, times, async ({ name }) => (await sessions.getItem(name)) ?? missing()),
        elsewhere: () => each(people, times, (person) => lookUp(backend, person)),
        atHand: () => each(few, times, (person) => lookUp(near, person)),
      },
      rounds,
    )
    const perSecond = (lookup: keyof typeof ms): number => (times * 1_000) / ms[lookup]
    const figure = (name: string, lookup: keyof typeof targets): Figure => ({
      name,
      value: perSecond(lookup),
      unit: 'per second',
      peers: { 'GET of Redis': perSecond('get') },
      target: { least: targets[lookup], of: 'GET of Redis' },
    })
    return [
      figure('records through redisStorage', 'record'),
      figure('getSession, session at hand', 'atHand'),
      figure('getSession, session elsewhere', 'elsewhere'),
    ]
  } finally {
    client.disconnect()
    await redis.stop()
  }
}

async function each(
  people: readonly Person[],
  times: number,
  task: (person: Person) => Promise<unknown>,
): Promise<void> {
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
