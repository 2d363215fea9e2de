import type { Service } from 'agent-service'
import type { Figure } from '../figures.ts'
import { median } from '../figures.ts'
import type { Engine, ScaleDatabase } from './agents.ts'
import { fillStatements, libsqlEngine, postgresEngine, rareType } from './agents.ts'

interface Query {
  name: string
  body: (size: number) => object
  /** `indexed`: the time must not follow the number of agents. Otherwise why it does. */
  kind: 'indexed' | 'found by trigrams' | 'counts every match'
  /** How many agents of `size` match, so that no query is quick because it is wrong. */
  count: (size: number) => number
}

/** Times of the largest size, by that of the smallest. */
const targets: Partial<Record<Query['kind'], number>> = { indexed: 3, 'found by trigrams': 10 }
const equals = (column: string, value: unknown): object => ({ column, operator: 'equals', value })
const half = (size: number): number => Math.floor(size / 2)

const queries: readonly Query[] = [
  {
    name: 'key',
    kind: 'indexed',
    body: (size) => ({ filters: [equals('agent_key', `agent_${half(size)}`)] }),
    count: () => 1,
  },
  {
    name: 'name or key, sorted by type',
    kind: 'indexed',
    body: (size) => ({
      filters: [
        { operator: 'or', filters: [equals('agent_name', `Agent ${half(size)}`), equals('agent_key', 'agent_7')] },
      ],
      sort: { column: 'parent_agent_type_key', desc: true },
    }),
    count: () => 2,
  },
  {
    name: 'type (20 agents), text, sorted by name',
    kind: 'indexed',
    body: () => ({
      filters: [equals('parent_agent_type_key', rareType)],
      search_value: 'Reads what',
      sort: { column: 'agent_name', desc: true },
    }),
    count: () => 20,
  },
  {
    name: 'all, sorted by name, 20',
    kind: 'counts every match',
    body: () => ({ limit: 20, sort: { column: 'agent_name' } }),
    // The demo agents are there too.
    count: (size) => size + 12,
  },
  {
    name: 'active, sorted by name, 20',
    kind: 'counts every match',
    body: () => ({ limit: 20, active: true, sort: { column: 'agent_name' } }),
    count: (size) => size - Math.floor(size / 10) + 9,
  },
  {
    name: 'text, sorted by name, 20',
    kind: 'found by trigrams',
    body: (size) => ({ limit: 20, search_value: `number ${half(size)} says`, sort: { column: 'agent_name' } }),
    count: () => 1,
  },
]

interface Filled {
  size: number
  service: Service
  database: ScaleDatabase
  token: string
}

const sizes = [1_000, 100_000]
/** For each query at each size. */
const mostTimes = 200
const mostMs = 1_500

/** Searches over HTTP semantics in process: bearer, body, query, answer. The sizes take turns. */
export async function search(): Promise<Figure[]> {
  const figures: Figure[] = []
  // A server that waits for minutes for its turn may be gone then.
  for (const open of [libsqlEngine, postgresEngine]) {
    const engine = await open()
    try {
      figures.push(...(await searchOn(engine)))
    } finally {
      await engine.stop()
    }
  }
  return figures
}

async function searchOn(engine: Engine): Promise<Figure[]> {
  const filled: Filled[] = []
  try {
    for (const size of sizes) filled.push(await fill(engine, size))
    const figures: Figure[] = []
    for (const query of queries) figures.push(...(await measure(engine.name, query, filled)))
    return figures
  } finally {
    for (const { service, database } of filled) {
      await service.close()
      await database.remove()
    }
  }
}

async function fill(engine: Engine, size: number): Promise<Filled> {
  const built = new URL('../../service/dist/index.js', import.meta.url).href
  const { createService } = (await import(built)) as typeof import('agent-service')
  const database = await engine.create()
  const before = performance.now()
  // The first start makes the tables; the second meets them full.
  await (await createService(database.options)).close()
  await database.execute(fillStatements(size, (done) => process.stderr.write(`\r${engine.name}: ${done} of ${size}`)))
  process.stderr.write(`\r${engine.name}: ${size} agents in ${((performance.now() - before) / 1_000).toFixed(1)} s\n`)
  const service = await indexed(engine, createService, database)
  return { size, service, database, token: await service.dev.mintSessionToken('ada@demo.example') }
}

/** The first start on the agents adds them to the index of texts. */
async function indexed(
  engine: Engine,
  createService: typeof import('agent-service').createService,
  database: ScaleDatabase,
): Promise<Service> {
  await database.beforeIndexing()
  const before = performance.now()
  await (await createService(database.options)).close()
  await database.afterIndexing()
  process.stderr.write(`${engine.name}: indexed in ${((performance.now() - before) / 1_000).toFixed(1)} s\n`)
  return createService(database.options)
}

async function measure(engine: string, query: Query, filled: readonly Filled[]): Promise<Figure[]> {
  const times = new Map(filled.map(({ size }) => [size, [] as number[]]))
  const until = performance.now() + mostMs * filled.length
  for (let turn = 0; turn < mostTimes && (turn < 5 || performance.now() < until); turn++) {
    for (const one of filled) {
      const ms = await timed(one, query)
      // The first turn warms up.
      if (turn > 0) times.get(one.size)?.push(ms)
    }
  }
  const [few = Number.NaN, many = Number.NaN] = sizes.map((size) => median(times.get(size) ?? []))
  const most = targets[query.kind]
  const peer = 'of 1,000'
  const target = most === undefined ? {} : { target: { most, of: peer } }
  return [{ name: `${engine}, ${query.name}, of 100,000`, value: many, unit: 'ms', peers: { [peer]: few }, ...target }]
}

async function timed({ service, size, token }: Filled, { name, body, count }: Query): Promise<number> {
  const before = performance.now()
  const answer = await service.fetch(`${service.baseUrl}/api/parent_agents/search`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body(size)),
  })
  const text = await answer.text()
  const ms = performance.now() - before
  const found = (JSON.parse(text) as { data?: { count?: number } }).data?.count
  if (found !== count(size))
    throw new Error(`${name}: ${found} agents found of ${count(size)}; status ${answer.status}`)
  return ms
}
