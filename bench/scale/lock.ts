import { setTimeout as sleep } from 'node:timers/promises'
import { line } from '../backend/rounds.ts'
import { type MeteredStore, meteredStore, type StoreKind } from './metered.ts'

export interface LockCost {
  readonly store: StoreKind
  /** How many tasks wait for the lock, and whether each of them is in a process of its own. */
  readonly waiters: number
  readonly where: 'one process' | 'a process each'
  /** Round trips of all waiters, until each had the lock once. */
  readonly roundTrips: number
  /** From the release of the lock until the last waiter had it. */
  readonly tookMs: number
  /** Waiters that got an error instead. */
  readonly failed: number
}

const heldMs = 1_000
/** This process plays all the waiting ones, and a thousand that ask on their own would wait for its event loop instead. */
const sizes = { 'one process': [1, 10, 100, 1_000], 'a process each': [1, 10, 100] } as const

/** What it costs when 1 to 1,000 tasks wait for a lock that is held for a second. */
export async function lockCosts(): Promise<LockCost[]> {
  const found: LockCost[] = []
  for (const kind of ['Redis', 'PostgreSQL'] as const) {
    const store = await meteredStore(kind)
    try {
      for (const where of ['one process', 'a process each'] as const)
        for (const waiters of sizes[where]) {
          const cost = await lockCost(store, waiters, where)
          line(`${kind}, ${waiters} waiters, ${where}:`.padEnd(46), told(cost))
          found.push(cost)
        }
    } finally {
      await store.close()
    }
  }
  return found
}

async function lockCost(store: MeteredStore, waiters: number, where: LockCost['where']): Promise<LockCost> {
  const name = `${waiters} ${where}`
  const shared = store.another()
  let releasedMs = 0
  let failed = 0
  const { roundTrips } = await store.measure(async () => {
    let isHeld = (): void => {}
    const held = new Promise<void>((resolve) => {
      isHeld = resolve
    })
    const holding = store.storage.withLock(name, async () => {
      isHeld()
      await sleep(heldMs)
      releasedMs = performance.now()
    })
    await held
    const waiting = Array.from({ length: waiters }, async () => {
      const storage = where === 'one process' ? shared : store.another()
      await storage.withLock(name, async () => {}).catch(() => void failed++)
    })
    await Promise.all([holding, ...waiting])
  })
  const tookMs = Math.round(performance.now() - releasedMs)
  return { store: store.kind, waiters, where, roundTrips, tookMs, failed }
}

function told({ roundTrips, tookMs, failed }: LockCost): string {
  return `${roundTrips} round trips, the last had it after ${tookMs} ms, ${failed} failed`
}
