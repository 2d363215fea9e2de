import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createTenantTurns } from '../src/api/tenant-turns.ts'
import type { TenantTurns } from '../src/http/environment.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const limits = { tenantCallsAtOnce: 2, tenantCallsWaiting: 3, tenantWaitMs: 1_000, tenantUnsentBytes: 100 }

interface Call {
  state: 'waiting' | 'running' | 'done' | number
  end(): Promise<void>
}

function call(turns: TenantTurns, tenant: string): Call {
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const made: Call = {
    state: 'waiting',
    async end() {
      end()
      await vi.advanceTimersByTimeAsync(0)
    },
  }
  turns
    .run(tenant, async () => {
      made.state = 'running'
      await ended
    })
    .then(
      () => {
        made.state = 'done'
      },
      (error: { status: number }) => {
        made.state = error.status
      },
    )
  return made
}

const states = (calls: Call[]) => calls.map(({ state }) => state)

test('S-085 A-45 calls beyond the limit of their tenant wait in order, and those of another tenant do not', async () => {
  const turns = createTenantTurns(limits)
  const calls = Array.from({ length: 4 }, () => call(turns, 'one'))
  const other = call(turns, 'two')
  expect(states([...calls, other])).toEqual(['running', 'running', 'waiting', 'waiting', 'running'])
  await calls[1]?.end()
  expect(states(calls)).toEqual(['running', 'done', 'running', 'waiting'])
  await calls[0]?.end()
  expect(states(calls)).toEqual(['done', 'done', 'running', 'running'])
  // A call that got its turn leaves no timer behind, which would keep the process alive.
  expect(vi.getTimerCount()).toBe(0)
})

test('S-085 A-45 a call that finds the queue full is 429 at once, and one that waits too long later', async () => {
  const turns = createTenantTurns(limits)
  const calls = Array.from({ length: 6 }, () => call(turns, 'one'))
  await vi.advanceTimersByTimeAsync(999)
  expect(states(calls)).toEqual(['running', 'running', 'waiting', 'waiting', 'waiting', 429])
  await calls[0]?.end()
  await vi.advanceTimersByTimeAsync(1)
  expect(states(calls)).toEqual(['done', 'running', 'running', 429, 429, 429])
})

test('S-085 A-45 while answers are not taken, further calls of their tenant wait', async () => {
  const turns = createTenantTurns(limits)
  const releases = [turns.holdBytes('one', 60), turns.holdBytes('one', 40)]
  const [first, other] = [call(turns, 'one'), call(turns, 'two')]
  expect(states([first, other])).toEqual(['waiting', 'running'])
  for (const release of releases.slice(0, 1)) release()
  await vi.advanceTimersByTimeAsync(0)
  expect(first.state).toBe('running')
  // A release counts once.
  releases[0]?.()
  releases[1]?.()
  await first.end()
  await other.end()
  expect(turns.size).toBe(0)
})

test('A-45 a task that fails gives its turn back, and tenants without calls are forgotten', async () => {
  const turns = createTenantTurns(limits)
  for (let turn = 0; turn < 5; turn += 1) {
    const failed = turns.run('one', () => Promise.reject(new Error('no')))
    await expect(failed).rejects.toThrow('no')
  }
  expect(turns.size).toBe(0)
})

test('S-085 A-45 between calls that waited, requests of others get their turn', async () => {
  vi.useRealTimers()
  const turns = createTenantTurns({ ...limits, tenantCallsWaiting: 100 })
  const order: string[] = []
  // A query of libSQL ends before the event loop goes on.
  const busy = Array.from({ length: 102 }, () => turns.run('busy', async () => void order.push('busy')))
  setImmediate(() => order.push('other'))
  await Promise.all(busy)
  expect(order).toHaveLength(103)
  expect(order.indexOf('other')).toBeLessThan(10)
})
