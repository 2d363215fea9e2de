import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault } from '../checker/history.ts'
import type { Way } from './network.ts'
import type { Processes } from './processes.ts'
import type { Random } from './random.ts'
import type { RecordedService } from './service.ts'
import type { StoreUnderFaults } from './stores.ts'

/** What may strike a history. */
export interface Strike extends Pick<Fault, 'losesSinceMs' | 'mayCost'> {
  readonly name: string
  readonly strike: (rig: Rig) => Promise<void>
}

/** What a nemesis has in its hands. */
export interface Rig {
  readonly random: Random
  readonly processes: Processes
  /** The ways of the processes to the storage, by their places. A Cluster has none. */
  readonly ways: readonly Way[]
  readonly service: RecordedService
  /** An address that accepts connections and says nothing. */
  readonly silentPort: number
  /** How long a fault lasts that has no length of its own, in milliseconds. */
  readonly faultMs: number
}

export interface Nemesis {
  /** What happens, for the help text. */
  readonly says: string
  /** The storages it is for. Default: both. */
  readonly only?: 'redis' | 'postgres'
  /** One fault, from its beginning to its end. */
  readonly strike: (rig: Rig, store: StoreUnderFaults) => Promise<void>
}

/** Longer than the lease of a lock, in milliseconds. */
const pastLeaseMs = 9_000
const hourMs = 3_600_000

export type NemesisName = 'kill' | 'pause' | 'clocks' | 'network' | 'moved' | 'read-only' | 'full' | 'pool' | 'crash'

export const nemeses: Readonly<Record<NemesisName, Nemesis>> = {
  kill: {
    says: 'a process is killed, half of the times between the response of the service and the save',
    async strike(rig) {
      const place = await chosen(rig)
      await rig.processes.replace(place)
    },
  },
  pause: {
    says: 'a process is stopped for longer than its lease, half of the times within a refresh, and goes on',
    async strike(rig) {
      const place = await chosen(rig)
      rig.processes.signal(place, 'SIGSTOP')
      await sleep(pastLeaseMs)
      rig.processes.signal(place, 'SIGCONT')
    },
  },
  clocks: {
    says: 'wall clocks jump by an hour; half of the processes are ahead all the time',
    async strike({ random, processes, faultMs }) {
      const place = random.one(processes.places)
      processes.tell(place, { order: 'clock', aheadMs: random.one([-hourMs, 0, hourMs, 2 * hourMs]) })
      await sleep(faultMs / 4)
    },
  },
  network: {
    says: 'connections of one process are slow, overtake each other, break and half close, in one direction',
    async strike({ random, ways, faultMs }) {
      const way = random.one(ways)
      const direction = random.one(['client', 'server'] as const)
      way.delay(direction, random.between(200, 3_000))
      await sleep(faultMs / 2)
      if (random.fraction() < 0.5) way.cut()
      else way.halfClose(direction)
      await sleep(faultMs / 4)
      way.heal()
    },
  },
  moved: {
    says: 'DNS gives half of the processes an old address, which accepts connections and says nothing',
    async strike({ random, ways, silentPort, faultMs }, store) {
      const half = ways.filter(() => random.fraction() < 0.5)
      for (const way of half) {
        way.moveTo(silentPort)
        way.cut()
      }
      await sleep(faultMs)
      for (const way of half) {
        way.moveTo(Number(new URL(store.url).port))
        way.cut()
      }
    },
  },
  'read-only': {
    says: 'the storage refuses writes',
    async strike({ faultMs }, store) {
      await store.readOnly('on')
      await sleep(faultMs)
      await store.readOnly('off')
    },
  },
  full: {
    says: 'the storage has no room (Redis: maxmemory with noeviction, PostgreSQL: the error of a full disk at each save)',
    async strike({ faultMs }, store) {
      await store.full('on')
      await sleep(faultMs)
      await store.full('off')
    },
  },
  pool: {
    says: 'every connection of the pools is taken',
    only: 'postgres',
    async strike({ processes, faultMs }) {
      for (const place of processes.places) processes.tell(place, { order: 'hold-pool', ms: faultMs })
      await sleep(faultMs)
    },
  },
  crash: {
    says: 'the storage ends at once and comes back with all that it had confirmed',
    async strike({ faultMs }, store) {
      await store.crash(() => sleep(faultMs / 2))
    },
  },
}

/** The faults of these names on this storage, none of which may cost a session. */
export function strikesOf(names: readonly NemesisName[], store: StoreUnderFaults): Strike[] {
  return names.map((name) => ({ name, strike: (rig) => nemeses[name].strike(rig, store) }))
}

/** Returns a place, half of the times when the service has answered a refresh of its process a moment before. */
async function chosen({ random, processes, service }: Rig): Promise<number> {
  const place = random.one(processes.places)
  if (random.fraction() < 0.5) return place
  await service.refreshed((process) => process === processes.nameOf(place))
  // Until the response has reached the process, or its save the storage.
  await sleep(random.between(0, 4))
  return place
}
