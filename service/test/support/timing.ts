import { createPasswords } from '../../src/credentials/passwords.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { authorizeUrl, Browser, basic, clientOf, personOf, refresh, signInPath } from './login.ts'

/** What two kinds of refusal took, tried in turn so that both see the same weather. */
export interface TimingComparison {
  /** Median of the first over the median of the second. */
  medianRatio: number
  /** The quickest of the first over the quickest of the second, which other work on the machine changes least. */
  quickestRatio: number
  /** Of the two-sample Kolmogorov-Smirnov test: how likely one distribution gives samples this far apart. */
  ksProbability: number
}

/** How to start a service: tests and the long run have their own ways. */
export type Start = () => Promise<Assembly>

export interface Contest {
  name: string
  /** How many tries find a refusal without its work: fewer if the work takes long beside what else the machine does. */
  fewestTries: number
  run(tries: number, start: Start): Promise<TimingComparison>
}

/** S-020 and S-044 by the clock: passed when the medians are within 5 % and the probability is above 0.01. */
export const timingContests: readonly Contest[] = [
  { name: 'sign-in: unknown person or wrong password', fewestTries: 2, run: compareSignIns },
  { name: 'token endpoint: unknown client or wrong secret', fewestTries: 10, run: compareClients },
]

async function compareSignIns(tries: number, start: Start): Promise<TimingComparison> {
  return withService(start, async ({ service, context }) => {
    // The slow hash, as where the data are kept.
    const passwords = createPasswords({ scheme: 'scrypt', key: context.keys.hashKey })
    const password_hash = await passwords.hash('a-password-of-somebody')
    await rawDatabase(context.store.db).updateTable('people').set({ password_hash }).execute()
    Object.assign(context, { passwords })
    const browser = new Browser(service.fetch)
    const form = await browser.get(authorizeUrl(service).url)
    const { email } = personOf(service, 'ada')
    const attempt = async (name: string) => {
      forgetFailures(context)
      await browser.submit(form, signInPath, { email: name, password: 'wrong-password' })
    }
    return compare(tries, [() => attempt('bob@demo.example'), () => attempt(email)])
  })
}

async function compareClients(tries: number, start: Start): Promise<TimingComparison> {
  return withService(start, async ({ service, context }) => {
    const client = clientOf(service, 'Demo confidential')
    const attempt = async (clientId: string) => {
      forgetFailures(context)
      await refresh(service, { ...client, clientId, clientSecret: basic(client).slice(6, 40) }, 'x')
    }
    const unknown = client.clientId.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    return compare(tries, [() => attempt(unknown), () => attempt(client.clientId)])
  })
}

async function withService<Value>(start: Start, use: (assembly: Assembly) => Promise<Value>): Promise<Value> {
  const assembly = await start()
  try {
    return await use(assembly)
  } finally {
    await assembly.service.close()
  }
}

function forgetFailures({ throttles }: Assembly['context']): void {
  for (const throttle of Object.values(throttles)) throttle.clear()
}

async function compare(
  tries: number,
  [first, second]: [() => Promise<void>, () => Promise<void>],
): Promise<TimingComparison> {
  const taken: [number[], number[]] = [[], []]
  // The first tries warm both paths up and do not count.
  const warmUp = Math.min(20, Math.floor(tries / 4))
  for (let count = -warmUp; count < tries; count += 1) {
    // Whoever comes second finds warmer caches: they take turns.
    const order = count % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)
    for (const which of order) {
      const startMs = performance.now()
      await [first, second][which]?.()
      if (count >= 0) taken[which].push(performance.now() - startMs)
    }
  }
  return compareSamples(...taken)
}

export function compareSamples(first: readonly number[], second: readonly number[]): TimingComparison {
  const [left, right] = [first, second].map((sample) => [...sample].sort((a, b) => a - b)) as [number[], number[]]
  const distance = Math.max(...[...left, ...right].map((at) => Math.abs(shareUpTo(left, at) - shareUpTo(right, at))))
  const size = Math.sqrt((left.length * right.length) / (left.length + right.length))
  const lambda = (size + 0.12 + 0.11 / size) * distance
  return {
    medianRatio: medianOf(left) / medianOf(right),
    quickestRatio: (left[0] ?? Number.NaN) / (right[0] ?? Number.NaN),
    ksProbability: ksTail(lambda),
  }
}

function medianOf(sorted: readonly number[]): number {
  const middle = (sorted.length - 1) / 2
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2
}

/** The share of a sorted sample that is at most `limit`. */
function shareUpTo(sorted: readonly number[], limit: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) <= limit) low = middle + 1
    else high = middle
  }
  return low / sorted.length
}

/** Kolmogorov's distribution: the chance of a distance this large or larger when there is no difference. */
function ksTail(lambda: number): number {
  if (lambda < 0.2) return 1
  let sum = 0
  for (let term = 1; term <= 100; term += 1) sum += (-1) ** (term - 1) * Math.exp(-2 * (term * lambda) ** 2)
  return Math.min(1, Math.max(0, 2 * sum))
}
