import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { keepLease, type Lease, type LeaseTable, takeLease } from '../../src/storage/shared/lease.ts'
import { codeOf } from '../support/session-rig.ts'
import { flush, type VirtualTime, virtualTime } from '../support/virtual-time.ts'

const lease: Lease = { name: 'name', owner: 'one' }

/** One lease on the virtual clock, and what was asked of it. */
function leaseTable(time: VirtualTime): LeaseTable & { owner: string; endsMs: number; asked: string[] } {
  const table = {
    owner: '',
    endsMs: 0,
    asked: [] as string[],
    async acquire({ owner }: Lease, leaseMs: number) {
      table.asked.push('acquire')
      if (table.owner && table.endsMs > time.nowMs()) return false
      Object.assign(table, { owner, endsMs: time.nowMs() + leaseMs })
      return true
    },
    async renew({ owner }: Lease, leaseMs: number) {
      table.asked.push('renew')
      if (table.owner !== owner) return false
      table.endsMs = time.nowMs() + leaseMs
      return true
    },
    async release({ owner }: Lease) {
      table.asked.push('release')
      if (table.owner === owner) table.owner = ''
    },
  }
  return table
}

async function kept() {
  const time = virtualTime()
  const table = leaseTable(time)
  await takeLease(table, lease, undefined)
  return { time, table, stop: keepLease(table, lease) }
}

describe('taking a lease', () => {
  test('waits until it is free, asking at least every 375 ms and not all the time', async () => {
    const time = virtualTime()
    const table = leaseTable(time)
    Object.assign(table, { owner: 'another', endsMs: 8_000 })
    await time.until(takeLease(table, lease, undefined))
    expect(table.owner).toBe('one')
    expect(time.nowMs()).toBeLessThanOrEqual(8_375)
    expect(table.asked.length).toBeGreaterThan(20)
    expect(table.asked.length).toBeLessThan(100)
  })

  test.each<[string, (settle: { grant(): void; fail(): void }) => void]>([
    ['that it grants late', ({ grant }) => grant()],
    ['of a command that failed late', ({ fail }) => fail()],
  ])('a database that does not answer is given up after 2.75 s, and a lease %s is given back', async (_, settle) => {
    const time = virtualTime()
    const table = leaseTable(time)
    let late = { grant: (): void => {}, fail: (): void => {} }
    const silent = {
      ...table,
      acquire: () =>
        new Promise<boolean>((resolve, reject) => {
          late = { grant: () => resolve(true), fail: () => reject(new Error('reset')) }
        }),
    }
    const startMs = time.nowMs()
    expect(await time.until(codeOf(takeLease(silent, lease, undefined)))).toBe('timeout')
    expect(time.nowMs() - startMs).toBe(2_750)
    expect(table.asked).toEqual([])
    settle(late)
    await flush()
    expect(table.asked).toEqual(['release'])
  })
})

describe('keeping a lease', () => {
  test('renews it every 2 s for as long as the turn lasts, and no longer', async () => {
    const { time, table, stop } = await kept()
    for (let second = 1; second <= 30; second++) {
      await time.pass(1_000)
      expect(table.endsMs - time.nowMs()).toBeGreaterThanOrEqual(6_000)
    }
    expect(table.asked).toHaveLength(16)
    stop()
    await time.pass(10_000)
    expect(table.asked).toHaveLength(16)
    expect(time.pendingTimers).toBe(0)
  })

  test('stops when it was lost, without taking it back', async () => {
    const { time, table } = await kept()
    await time.pass(3_000)
    table.owner = 'another'
    await time.pass(60_000)
    expect(table.owner).toBe('another')
    expect(table.asked).toEqual(['acquire', 'renew', 'renew'])
  })

  test('a turn that never ends keeps its lease for 98 s at most', async () => {
    const { time, table } = await kept()
    await time.pass(200_000)
    expect(table.endsMs).toBe(98_000)
    expect(time.pendingTimers).toBe(0)
  })
})

test('a task that holds a lock does not keep its process alive', () => {
  const timeouts = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => timeouts.mockRestore())
  const table: LeaseTable = { acquire: async () => true, renew: async () => true, release: async () => {} }
  const stop = keepLease(table, lease)
  onTestFinished(stop)
  expect(timeouts.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([false])
})
