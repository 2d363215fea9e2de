import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AtEnd, bundled } from '../../support/children.ts'
import { type HistoryEvent, parseHistory } from '../checker/history.ts'
import { monotonicMs } from './recorder.ts'
import type { WorkerOrder, WorkerTask, WorkerWord } from './task.ts'

/** The processes of a history. Each has a place, and another one takes it when it was killed. */
export interface Processes {
  readonly places: readonly number[]
  /** How many calls have completed in all. */
  calls(): number
  /** The name of the process in this place. */
  nameOf(place: number): string
  tell(place: number, order: WorkerOrder): void
  signal(place: number, signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Kills the process, and starts another one in its place. */
  replace(place: number): Promise<void>
  /** Lets all end their calls, and read every session once more. */
  end(): Promise<void>
  /** What they recorded, with an end at their death for calls of processes that were killed. */
  events(): Promise<HistoryEvent[]>
}

interface Worker {
  readonly task: WorkerTask
  readonly child: ChildProcess
  calls: number
  killedMs: number | undefined
}

/** How long a command of a process that was killed may still take effect, in milliseconds. */
const lateCommandMs = 5_000

export async function startProcesses(
  atEnd: AtEnd,
  count: number,
  taskOf: (place: number, name: string) => WorkerTask,
): Promise<Processes> {
  // The checker counts on the limit of an operation.
  const program = await bundled(atEnd, '../soak/histories/worker.ts', { limits: 'published' })
  const places = Array.from({ length: count }, (_, place) => place)
  const all: Worker[] = []
  const current = new Map<number, Worker>()
  const at = (place: number): Worker => {
    const worker = current.get(place)
    if (!worker) throw new Error(`There is no process in place ${place}.`)
    return worker
  }

  async function start(place: number): Promise<void> {
    const task = taskOf(place, `p${place}.${all.length}`)
    const child = fork(program, [JSON.stringify(task)], { execArgv: [] })
    atEnd(() => void child.kill('SIGKILL'))
    const worker: Worker = { task, child, calls: 0, killedMs: undefined }
    child.on('message', (word: WorkerWord) => {
      if (typeof word === 'object') worker.calls = word.calls
    })
    all.push(worker)
    current.set(place, worker)
    await said(child, 'ready')
  }

  async function tellAll(order: WorkerOrder, answer: WorkerWord): Promise<void> {
    const answers = places.map((place) => said(at(place).child, answer))
    for (const place of places) at(place).child.send(order)
    await Promise.all(answers)
  }

  await Promise.all(places.map(start))
  return {
    places,
    calls: () => all.reduce((sum, { calls }) => sum + calls, 0),
    nameOf: (place) => at(place).task.name,
    tell: (place, order) => void at(place).child.send(order),
    signal: (place, signal) => void at(place).child.kill(signal),
    async replace(place) {
      const worker = at(place)
      const gone = once(worker.child, 'exit')
      worker.child.kill('SIGKILL')
      await gone
      worker.killedMs = monotonicMs()
      await start(place)
    },
    async end() {
      await tellAll({ order: 'stop' }, 'idle')
      await tellAll({ order: 'end' }, 'done')
    },
    events: async () => (await Promise.all(all.map(eventsOf))).flat(),
  }
}

async function eventsOf({ task, killedMs }: Worker): Promise<HistoryEvent[]> {
  const text = await readFile(task.history, 'utf8').catch(() => '')
  // A process that was killed may have left half a line.
  const events = parseHistory(killedMs === undefined ? text : text.slice(0, text.lastIndexOf('\n') + 1))
  if (killedMs === undefined) return events
  const ended = new Set(events.flatMap((event) => (event.type === 'completed' ? event.call : [])))
  const stamp = { monotonicMs: killedMs + lateCommandMs, wallMs: Date.now() }
  const open = events.flatMap((event) => (event.type === 'invoked' && !ended.has(event.call) ? event.call : []))
  return [...events, ...open.map((call): HistoryEvent => ({ type: 'completed', call, outcome: 'killed', ...stamp }))]
}

/** Resolves when the process says this. Rejects if it ends before. */
async function said(child: ChildProcess, awaited: WorkerWord): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onMessage = (word: WorkerWord): void => {
      if (word === awaited) finish(resolve)
    }
    const onClose = (code: number | null, signal: string | null): void =>
      finish(() => reject(new Error(`A process ended with ${code ?? signal} before it was ${awaited}.`)))
    const finish = (settle: () => void): void => {
      child.off('message', onMessage).off('close', onClose)
      settle()
    }
    // `exit` can come before the last message.
    child.on('message', onMessage).on('close', onClose)
  })
}
