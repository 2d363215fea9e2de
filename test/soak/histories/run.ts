import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AtEnd } from '../../support/children.ts'
import type { HistoryEvent } from '../checker/history.ts'
import type { Rig, Strike } from './nemeses.ts'
import { silentAddress, type Way, wayTo } from './network.ts'
import { startProcesses } from './processes.ts'
import { randomFrom } from './random.ts'
import { monotonicMs, type Write } from './recorder.ts'
import { recordedService } from './service.ts'
import type { WorkerStore } from './task.ts'

export interface HistorySize {
  /** The storage of the process in this place: `proxied` through a way of its own, which can be made bad. */
  readonly storeOf: (place: number) => { readonly kind: WorkerStore; readonly urls: readonly string[] }
  readonly connection: 'proxied' | 'direct'
  readonly processes: number
  readonly sessions: number
  /** Of each process. */
  readonly callsAtOnce: number
  /** The longest pause between two calls of one series, in milliseconds. */
  readonly maxPauseMs: number
  /** Which share of the calls ask a session in use for its token, besides those of the usual mix. Default: none. */
  readonly askShare?: number
  /** What strikes, one after the other, again and again until there were enough calls; at least once each. */
  readonly strikes: readonly Strike[]
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
  const order = size.strikes
  // A fault strikes sessions that are in use.
  while (rig.processes.calls() === 0) await sleep(20)
  for (let turn = 0; turn < order.length || rig.processes.calls() < size.calls; turn++) {
    const next = order[turn % order.length]
    await sleep(size.restMs)
    if (next) await strike(rig, next, write)
    size.onCalls?.(rig.processes.calls())
  }
  await sleep(size.restMs)
  await rig.processes.end()
  return [...events, ...(await rig.processes.events())]
}

async function strike(rig: Rig, { name, strike: run, ...loses }: Strike, write: Write): Promise<void> {
  write({ type: 'fault', name, phase: 'begins', ...loses })
  await run(rig)
  write({ type: 'fault', name, phase: 'ends' })
}

async function setUp(atEnd: AtEnd, size: HistorySize, write: Write): Promise<Rig> {
  const { seed, storeOf } = size
  const folder = await mkdtemp(join(tmpdir(), 'agent-auth-histories-'))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  const service = await recordedService(atEnd, write, { accessTokenLifeMs: 600_000 })
  const ways = size.connection === 'direct' ? [] : await waysOf(atEnd, size)
  const prefix = randomUUID()
  const processes = await startProcesses(atEnd, size.processes, (place, name) => ({
    name,
    kind: storeOf(place).kind,
    urls: storeOf(place).urls.map((url) => withPort(url, ways[place]?.port)),
    prefix,
    history: join(folder, `${name}.jsonl`),
    seed,
    sessions: size.sessions,
    callsAtOnce: size.callsAtOnce,
    maxPauseMs: size.maxPauseMs,
    askShare: size.askShare ?? 0,
    // Half of the processes are an hour ahead where clocks are struck.
    aheadMs: size.strikes.some((strike) => strike.name === 'clocks') && place % 2 === 1 ? 3_600_000 : 0,
    config: service.config,
    people: service.people,
  }))
  const silentPort = await silentAddress(atEnd)
  return { random: randomFrom(seed), processes, ways, service, silentPort, faultMs: size.faultMs }
}

function waysOf(atEnd: AtEnd, { processes, seed, storeOf }: HistorySize): Promise<Way[]> {
  return Promise.all(
    Array.from({ length: processes }, (_, place) => {
      const [url = ''] = storeOf(place).urls
      return wayTo(atEnd, Number(new URL(url).port), randomFrom(`${seed} way ${place}`))
    }),
  )
}

function withPort(text: string, port: number | undefined): string {
  const url = new URL(text)
  if (port !== undefined) url.port = String(port)
  return url.href
}
