import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { connectWorker } from './connect.ts'
import { asksForToken, holders } from './holder.ts'
import { randomFrom } from './random.ts'
import { fileRecorder, recordStalls } from './recorder.ts'
import type { WorkerOrder, WorkerTask, WorkerWord } from './task.ts'

// One process of a history: it signs users in and out, asks for tokens and refreshes them, several calls at once, over a
// storage that other processes share, and records what it called and was told.
const task = JSON.parse(process.argv[2] ?? '') as WorkerTask
const random = randomFrom(`${task.seed} ${task.name}`)
let aheadMs = task.aheadMs
let isStopping = false
let calls = 0

const wallMs = (): number => Date.now() + aheadMs
const { storage, client, close } = await connectWorker(task)
const write = fileRecorder(task.history, wallMs)
const own = holders(task, { storage, wallMs, write })
recordStalls(write, task.name)
const say = (word: WorkerWord): void => void process.send?.(word)

/** One of the series of calls that run side by side. */
async function series(): Promise<void> {
  while (!isStopping) {
    const choice = random.fraction() < task.askShare ? asksForToken : random.fraction()
    await own.call(random.between(0, task.sessions - 1), choice)
    calls += 1
    if (calls % 20 === 0) say({ calls })
    await sleep(random.between(0, task.maxPauseMs))
  }
}

async function holdPool(ms: number): Promise<void> {
  const pool = client as pg.Pool
  const taken = await Promise.allSettled(Array.from({ length: pool.options.max ?? 1 }, () => pool.connect()))
  const clients = taken.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  // The pool listens only to those that are not taken.
  for (const client of clients) client.on('error', () => {})
  await sleep(ms)
  for (const client of clients) client.release()
}

const running = Array.from({ length: task.callsAtOnce }, series)

// Also if the process that records the service was killed.
process.once('disconnect', () => process.exit())
process.on('message', async (order: WorkerOrder) => {
  if (order.order === 'clock') aheadMs = order.aheadMs
  if (order.order === 'hold-pool') await holdPool(order.ms)
  if (order.order === 'stop') {
    isStopping = true
    await Promise.all(running)
    say('idle')
  }
  if (order.order === 'end') {
    await own.readAll()
    await close()
    process.send?.('done' satisfies WorkerWord, () => process.disconnect())
  }
})
say('ready')
