// @module-tag slow

import { describe, test } from 'vitest'
import { check } from '../soak/checker/check.ts'
import type { HistoryEvent } from '../soak/checker/history.ts'
import { printReport } from '../soak/checker/print.ts'
import { clusterUnderFaults, promotionsUnderFaults } from '../soak/histories/clusters.ts'
import { strikesOf } from '../soak/histories/nemeses.ts'
import { type HistorySize, recordHistory } from '../soak/histories/run.ts'
import { saveHistory } from '../soak/histories/save.ts'
import { redisUnderFaults } from '../soak/histories/stores.ts'
import type { AtEnd } from '../support/children.ts'

type Setting = Pick<HistorySize, 'storeOf' | 'connection' | 'strikes' | 'processes'>

const settings: Record<string, (atEnd: AtEnd) => Promise<Setting>> = {
  async 'one Redis'(atEnd) {
    const store = await redisUnderFaults(atEnd)
    const names = ['pause', 'network', 'read-only', 'kill', 'full', 'clocks', 'moved', 'crash'] as const
    return {
      storeOf: () => ({ kind: 'redis', urls: [store.url] }),
      connection: 'proxied',
      strikes: strikesOf(names, store),
      processes: 2,
    }
  },
  async 'a Redis Cluster that fails over and moves slots'(atEnd) {
    const { cluster, strikes } = await clusterUnderFaults(atEnd)
    const urls = cluster.addresses.map(({ host, port }) => `redis://${host}:${port}`)
    const clients = ['ioredis cluster', 'node-redis cluster', 'node-redis cluster, WAIT'] as const
    const names = ['failover', 'slot-moved', 'min-replicas', 'replica-behind', 'master-killed'] as const
    return {
      storeOf: (place) => ({ kind: clients[place] ?? 'ioredis cluster', urls }),
      connection: 'direct',
      strikes: names.map((name) => strikes[name]),
      processes: clients.length,
    }
  },
  async 'a PostgreSQL whose standby is promoted while the old primary accepts writes for ten seconds'(atEnd) {
    const { url, before, strike } = await promotionsUnderFaults(atEnd)
    return {
      storeOf: () => ({ kind: 'postgres', urls: [url] }),
      connection: 'proxied',
      strikes: [...strikesOf(['pool', 'read-only', 'full'], before), strike],
      processes: 2,
    }
  },
}

/** When the last call of each place that the storage answered completed. */
function lastCalls(events: readonly HistoryEvent[]): number[] {
  const last = new Map<string, number>()
  for (const event of events)
    if (event.type === 'completed' && event.outcome !== 'killed' && event.outcome !== 'storage_failed')
      last.set(event.call.split('.')[0] ?? '', event.monotonicMs)
  return [...last.values()]
}

// They mostly wait for faults to pass, side by side. `npm run soak -- histories cluster` has each for 100,000 calls.
describe.concurrent('processes while nemeses strike break no promise of a session but by a write that a fault may lose', () => {
  for (const [name, setting] of Object.entries(settings))
    test(`on ${name}`, { tags: name.includes('Redis') ? ['redis'] : [] }, async ({ expect, onTestFinished }) => {
      const size = { sessions: 4, callsAtOnce: 2, maxPauseMs: 400, calls: 0, faultMs: 1_200, restMs: 300 }
      const { strikes, ...rest } = await setting(onTestFinished)
      const events = await recordHistory(onTestFinished, { ...size, ...rest, strikes, seed: 'one' })
      const report = check(events)
      const file = report.holds ? '' : `\nThe whole history is in ${await saveHistory(name, events)}.`
      expect(report.violations, printReport(report) + file).toEqual([])
      expect(report.signedIn).toBe(size.sessions)
      if (strikes.every(({ losesSinceMs }) => losesSinceMs === undefined)) expect(report.losses.seen).toBe(0)
      expect(report.handledLate.seen).toBeLessThanOrEqual(report.handledLate.allowed)
      // The exceptions of the checker need to know who received each token.
      expect(events.filter((event) => event.type === 'issued' && event.holder === undefined)).toEqual([])
      // Every process works again after the last fault.
      const ends = events.flatMap((event) =>
        event.type === 'fault' && event.phase === 'ends' ? event.monotonicMs : [],
      )
      expect(ends).toHaveLength(strikes.length)
      expect(lastCalls(events).filter((ms) => ms > Math.max(...ends))).toHaveLength(rest.processes)
    })
})
