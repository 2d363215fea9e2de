import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AtEnd } from '../../support/children.ts'
import type { HistoryEvent } from '../checker/history.ts'
import { type NemesisName, nemeses, type Rig } from './nemeses.ts'
import { silentAddress, wayTo } from './network.ts'
import { startProcesses } from './processes.ts'
import { randomFrom } from './random.ts'
import { monotonicMs, type Write } from './recorder.ts'
import { recordedService } from './service.ts'
import type { StoreUnderFaults } from './stores.ts'

export interface HistorySize {
  readonly store: StoreUnderFaults
  readonly processes: number
  readonly sessions: number
  /** Of each process. */
  readonly callsAtOnce: number
  /** The longest pause between two calls of one series, in milliseconds. */
  readonly maxPauseMs: number
  /** What strikes, one after the other, again and again until there were enough calls; at least once each. */
  readonly nemeses: readonly NemesisName[]
  readonly calls: number
  /** How long a fault lasts that has no length of its own, and how long it is quiet between two, in milliseconds. */
  readonly faultMs: number
  readonly restMs: number
  /** The same seed makes the same choices. */
  readonly seed: string
  readonly onCalls?: (calls: number) => void
}

/** Records a history of processes with the library over one storage, while nemeses strike. */
export async function recordHistory(atEnd: AtEnd, size: HistorySize): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = []
  const write: Write = (event) =>
    void events.push({ ...event, monotonicMs: monotonicMs(), wallMs: Date.now() } as HistoryEvent)
  const rig = await setUp(atEnd, size, write)
  const order = size.nemeses
  for (let turn = 0; turn < order.length || rig.processes.calls() < size.calls; turn++) {
    const name = order[turn % order.length]
    await sleep(size.restMs)
    if (name !== undefined) await strike(rig, name, write)
    size.onCalls?.(rig.processes.calls())
  }
  await sleep(size.restMs)
  await rig.processes.end()
  return [...events, ...(await rig.processes.events())]
}

async function strike(rig: Rig, name: NemesisName, write: Write): Promise<void> {
  write({ type: 'fault', name, phase: 'begins' })
  await nemeses[name].strike(rig)
  write({ type: 'fault', name, phase: 'ends' })
}

async function setUp(atEnd: AtEnd, size: HistorySize, write: Write): Promise<Rig> {
  const { store, seed } = size
  const random = randomFrom(seed)
  const folder = await mkdtemp(join(tmpdir(), 'agent-auth-histories-'))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  const service = await recordedService(atEnd, write, { accessTokenLifeMs: 600_000 })
  const url = new URL(store.url)
  const ways = await Promise.all(
    Array.from({ length: size.processes }, (_, place) =>
      wayTo(atEnd, Number(url.port), randomFrom(`${seed} way ${place}`)),
    ),
  )
  const prefix = randomUUID()
  const processes = await startProcesses(atEnd, size.processes, (place, name) => {
    url.port = String(ways[place]?.port)
    return {
      name,
      kind: store.kind,
      urls: [url.href],
      prefix,
      history: join(folder, `${name}.jsonl`),
      seed,
      sessions: size.sessions,
      callsAtOnce: size.callsAtOnce,
      maxPauseMs: size.maxPauseMs,
      // Half of the processes are an hour ahead where that is a nemesis.
      aheadMs: size.nemeses.includes('clocks') && place % 2 === 1 ? 3_600_000 : 0,
      config: service.config,
      people: service.people,
    }
  })
  return { random, processes, ways, store, service, silentPort: await silentAddress(atEnd), faultMs: size.faultMs }
}
