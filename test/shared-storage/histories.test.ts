// @module-tag slow

import { describe, test } from 'vitest'
import { check } from '../soak/checker/check.ts'
import type { HistoryEvent } from '../soak/checker/history.ts'
import { printReport } from '../soak/checker/print.ts'
import type { NemesisName } from '../soak/histories/nemeses.ts'
import { recordHistory } from '../soak/histories/run.ts'
import { postgresUnderFaults, redisUnderFaults, type StoreUnderFaults } from '../soak/histories/stores.ts'
import type { AtEnd } from '../support/children.ts'
import { freshDatabase } from '../support/fresh-database.ts'

const onBoth: NemesisName[] = ['pause', 'kill', 'network', 'read-only', 'moved', 'clocks', 'crash']

const stores = {
  async redis(atEnd: AtEnd): Promise<StoreUnderFaults> {
    return redisUnderFaults(atEnd)
  },
  async postgres(atEnd: AtEnd): Promise<StoreUnderFaults> {
    const { url, drop } = await freshDatabase()
    atEnd(drop)
    return postgresUnderFaults(atEnd, url)
  },
}

const nemesesOn = {
  redis: [...onBoth, 'full'],
  postgres: [...onBoth, 'pool'],
} satisfies Record<keyof typeof stores, NemesisName[]>

/** When the last call of each process that was there at the end completed. */
function lastCalls(events: readonly HistoryEvent[]): number[] {
  const last = new Map<string, number>()
  for (const event of events)
    if (event.type === 'completed' && event.outcome === 'ok')
      last.set(event.call.split('.')[0] ?? '', event.monotonicMs)
  return [...last.values()]
}

// They mostly wait for faults to pass, side by side. `npm run soak -- histories` has each for 100,000 calls.
describe.concurrent('3 processes while nemeses strike', () => {
  for (const kind of ['redis', 'postgres'] as const)
    test(`${kind}: every promise of a session holds [C-069 C-071 C-073 D-25 D-26]`, { tags: [kind] }, async ({
      expect,
      onTestFinished,
    }) => {
      const events = await recordHistory(onTestFinished, {
        store: await stores[kind](onTestFinished),
        processes: 3,
        sessions: 4,
        callsAtOnce: 2,
        maxPauseMs: 120,
        nemeses: nemesesOn[kind],
        calls: 0,
        faultMs: 2_000,
        restMs: 300,
        seed: 'one',
      })
      const report = check(events)
      expect(report.holds, printReport(report)).toBe(true)
      expect(report.losses.seen).toBe(0)
      // Every process works again after the last fault.
      const ends = events.flatMap((event) =>
        event.type === 'fault' && event.phase === 'ends' ? event.monotonicMs : [],
      )
      expect(ends).toHaveLength(nemesesOn[kind].length)
      expect(lastCalls(events).filter((ms) => ms > Math.max(...ends))).toHaveLength(3)
    })
})
