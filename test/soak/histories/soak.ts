import { randomUUID } from 'node:crypto'
import type { AtEnd } from '../../support/children.ts'
import { createDatabase, startPostgres } from '../../support/postgres-server.ts'
import { check } from '../checker/check.ts'
import { printReport } from '../checker/print.ts'
import type { SoakSize } from '../index.ts'
import { type ClusterNemesisName, clusterUnderFaults, promotionsUnderFaults } from './clusters.ts'
import { type NemesisName, nemeses, strikesOf } from './nemeses.ts'
import { type HistorySize, recordHistory } from './run.ts'
import { saveHistory } from './save.ts'
import { postgresUnderFaults, redisUnderFaults } from './stores.ts'
import type { WorkerStore } from './task.ts'

/** What differs between two long histories. */
type Setting = Pick<HistorySize, 'storeOf' | 'connection' | 'strikes'> & { readonly faultMs?: number }

/** One long history: how its parts are started. */
interface LongHistory {
  readonly name: string
  readonly nemesis: string
  readonly start: (atEnd: AtEnd) => Promise<Setting>
}

/** Records a history of so many calls under each nemesis on each storage, and judges it. */
export function soakHistories(size: SoakSize): Promise<string> {
  const names = Object.keys(nemeses) as NemesisName[]
  const long = (['redis', 'postgres'] as const).flatMap((kind) =>
    names.filter((name) => (nemeses[name].only ?? kind) === kind).map((name) => onOneStore(kind, name)),
  )
  return soakEach(long, size)
}

/** The same on a Redis Cluster and on a PostgreSQL with a standby. */
export function soakCluster(size: SoakSize): Promise<string> {
  const names: ClusterNemesisName[] = [
    'failover',
    'master-killed',
    'master-paused',
    'replica-behind',
    'slot-moved',
    'min-replicas',
  ]
  const onCluster = names.map((name) => onRedisCluster(name, name, ['ioredis cluster', 'node-redis cluster']))
  const replicaReads = onRedisCluster('replica-reads', 'failover', ['ioredis cluster, replicas'])
  const wait = onRedisCluster('wait', 'replica-behind', ['node-redis cluster, WAIT'])
  const promotion: LongHistory = {
    name: 'postgres, promotion',
    nemesis: 'promotion',
    async start(atEnd) {
      const { url, strike } = await promotionsUnderFaults(atEnd)
      return { storeOf: () => ({ kind: 'postgres', urls: [url] }), connection: 'proxied', strikes: [strike] }
    },
  }
  return soakEach([...onCluster, replicaReads, wait, promotion], size)
}

function onOneStore(kind: 'redis' | 'postgres', name: NemesisName): LongHistory {
  return {
    name: `${kind}, ${name}`,
    nemesis: name,
    async start(atEnd) {
      const store = kind === 'redis' ? await redisUnderFaults(atEnd) : await freshPostgres(atEnd)
      const strikes = strikesOf([name], store)
      const faultMs = name === 'read-only' ? 60_000 : 6_000
      return { storeOf: () => ({ kind, urls: [store.url] }), connection: 'proxied', strikes, faultMs }
    },
  }
}

/** The processes use these clients by turns. */
function onRedisCluster(nemesis: string, name: ClusterNemesisName, clients: readonly WorkerStore[]): LongHistory {
  return {
    name: `cluster, ${nemesis}`,
    nemesis,
    async start(atEnd) {
      const { cluster, strikes } = await clusterUnderFaults(atEnd)
      const urls = cluster.addresses.map(({ host, port }) => `redis://${host}:${port}`)
      const storeOf: Setting['storeOf'] = (place) => ({
        kind: clients[place % clients.length] ?? 'ioredis cluster',
        urls,
      })
      return { storeOf, connection: 'direct', strikes: [strikes[name]] }
    },
  }
}

async function freshPostgres(atEnd: AtEnd): ReturnType<typeof postgresUnderFaults> {
  const server = await startPostgres()
  atEnd(() => server.stop())
  return postgresUnderFaults(atEnd, (await createDatabase(server.url)).url)
}

async function soakEach(long: readonly LongHistory[], { nemesis: only, seed, ...size }: SoakSize): Promise<string> {
  const chosen = long.filter(({ nemesis }) => only === undefined || nemesis === only)
  if (chosen.length === 0)
    throw new Error(`The nemeses are ${[...new Set(long.map((each) => each.nemesis))].join(', ')}.`)
  const used = seed ?? randomUUID()
  const faults: string[] = []
  for (const each of chosen)
    await soakOne(each, { ...size, seed: used }).then(size.onPart, (error: Error) => faults.push(error.message))
  if (faults.length > 0) throw new Error(`seed ${used}\n${faults.join('\n')}`)
  return `${chosen.length} histories, seed ${used}`
}

async function soakOne(
  { name, start }: LongHistory,
  { rounds, onRound, seed }: Pick<SoakSize, 'rounds' | 'onRound'> & { seed: string },
): Promise<string> {
  const ends: (() => void | Promise<void>)[] = []
  const atEnd: AtEnd = (end) => void ends.push(end)
  try {
    const load = { processes: 8, sessions: 100, callsAtOnce: 32, maxPauseMs: 40, askShare: 0.95 }
    const size = { ...load, faultMs: 6_000, restMs: 2_000 }
    const events = await recordHistory(atEnd, {
      ...size,
      ...(await start(atEnd)),
      calls: rounds,
      seed,
      onCalls: onRound,
    })
    const report = check(events)
    // A session that no user signed in to shows nothing.
    if (report.holds && report.signedIn === report.sessions)
      return `${name}: ${printReport(report).replaceAll('\n ', ';')}`
    const file = await saveHistory(`${name} ${seed}`, events)
    throw new Error(`${name}, seed ${seed}, recorded in ${file}:\n${printReport(report)}`)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
