// Also tests service/src/api/call-pacing.ts.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { timersOfWork } from '../../../test/support/timers-of-work.ts'
import { createTenantTurns } from '../../src/api/tenant-turns.ts'
import type { TenantTurns } from '../../src/http/hono-environment.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const limits = { tenantCallsAtOnce: 2, tenantCallsWaiting: 3, tenantWaitMs: 1_000, tenantUnsentBytes: 100 }
/** No call takes so much processor time that a pause follows it. */
const noTimeUsed = (): number => 0

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
      await allBegun()
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

/** Waits until every call that has room has begun: each takes two turns of the event loop. */
async function allBegun(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn()
}

const states = (calls: Call[]) => calls.map(({ state }) => state)

test('calls beyond the limit of their tenant wait in order, and those of another tenant do not', async () => {
  const turns = createTenantTurns(limits, noTimeUsed)
  const timers = timersOfWork()
  const calls = Array.from({ length: 4 }, () => timers.run(() => call(turns, 'one')))
  const other = timers.run(() => call(turns, 'two'))
  await allBegun()
  expect(states([...calls, other])).toEqual(['running', 'running', 'waiting', 'waiting', 'running'])
  expect(timers.pendingCount()).toBe(2)
  await calls[1]?.end()
  expect(states(calls)).toEqual(['running', 'done', 'running', 'waiting'])
  await calls[0]?.end()
  expect(states(calls)).toEqual(['done', 'done', 'running', 'running'])
  // A call that got its turn leaves no timer behind, which would keep the process alive.
  expect(timers.pendingCount()).toBe(0)
})

test('a call that finds the queue full is 429 at once, and one that waits too long later', async () => {
  const turns = createTenantTurns(limits, noTimeUsed)
  const calls = Array.from({ length: 6 }, () => call(turns, 'one'))
  await allBegun()
  await vi.advanceTimersByTimeAsync(999)
  expect(states(calls)).toEqual(['running', 'running', 'waiting', 'waiting', 'waiting', 429])
  await calls[0]?.end()
  await vi.advanceTimersByTimeAsync(1)
  expect(states(calls)).toEqual(['done', 'running', 'running', 429, 429, 429])
})

test('while answers are not taken, further calls of their tenant wait', async () => {
  const turns = createTenantTurns(limits, noTimeUsed)
  const releases = [turns.holdBytes('one', 60), turns.holdBytes('one', 40)]
  const [first, other] = [call(turns, 'one'), call(turns, 'two')]
  await allBegun()
  expect(states([first, other])).toEqual(['waiting', 'running'])
  for (const release of releases.slice(0, 1)) release()
  await allBegun()
  expect(first.state).toBe('running')
  // A release counts once.
  releases[0]?.()
  releases[1]?.()
  await first.end()
  await other.end()
  expect(turns.load().tenants).toBe(0)
})

test('a task that fails gives its turn back, and tenants without calls are forgotten', async () => {
  const turns = createTenantTurns(limits)
  for (let turn = 0; turn < 5; turn += 1) {
    const failed = turns.run('one', () => Promise.reject(new Error('no')))
    await expect(failed).rejects.toThrow('no')
  }
  expect(turns.load().tenants).toBe(0)
})

test('a call that never had room and waited too long leaves nothing behind', async () => {
  const turns = createTenantTurns({ ...limits, tenantCallsAtOnce: 0 })
  const late = call(turns, 'one')
  await vi.advanceTimersByTimeAsync(1_000)
  expect({ state: late.state, tenants: turns.load().tenants }).toEqual({ state: 429, tenants: 0 })
})

test('of calls that arrive together one runs before a request on a new connection', async () => {
  const turns = createTenantTurns({ ...limits, tenantCallsWaiting: 100 }, () => 0)
  const order: string[] = []
  // Each request arrives in a callback of its own, and a query of libSQL ends before the event loop goes on.
  const busy = Array.from({ length: 100 }, async () => {
    await nextTurn()
    await turns.run('busy', async () => void order.push('busy'))
  })
  // The connection is accepted in one turn and read in the next.
  const other = nextTurn()
    .then(() => nextTurn())
    .then(() => order.push('other'))
  await Promise.all([...busy, other])
  expect(order).toHaveLength(101)
  expect(order.indexOf('other')).toBeLessThanOrEqual(1)
})

test('between calls that wait, a request on a new connection is answered', async () => {
  const turns = createTenantTurns({ ...limits, tenantCallsWaiting: 100 }, () => 0)
  const order: string[] = []
  const busy = Array.from({ length: 100 }, () =>
    turns.run('busy', async () => {
      order.push('busy')
      // The connection opens during the tenth call.
      if (order.length !== 10) return
      void nextTurn()
        .then(() => nextTurn())
        .then(() => order.push('other'))
    }),
  )
  await Promise.all(busy)
  expect(order).toHaveLength(101)
  expect(order.indexOf('other')).toBeLessThanOrEqual(11)
})

test('tenants begin calls by turns', async () => {
  const turns = createTenantTurns({ ...limits, tenantCallsWaiting: 100 }, () => 0)
  const order: string[] = []
  const run = (tenant: string) => turns.run(tenant, async () => void order.push(tenant))
  const busy = Array.from({ length: 100 }, () => run('busy'))
  await Promise.all([...busy, ...Array.from({ length: 3 }, () => run('other'))])
  expect(order.slice(0, 7)).toEqual(['busy', 'other', 'busy', 'other', 'busy', 'other', 'busy'])
})

test('after a call that held up the event loop, the next one waits as long', async () => {
  let usedMs = 0
  const turns = createTenantTurns(limits, () => usedMs)
  let endedMs = 0
  let pauseMs = 0
  const first = turns.run('one', async () => {
    usedMs += 50
    endedMs = performance.now()
  })
  const second = turns.run('one', async () => {
    pauseMs = performance.now() - endedMs
  })
  await Promise.all([first, second])
  // A timer counts from the beginning of its turn, in whole milliseconds.
  expect(pauseMs).toBeGreaterThan(48)
})

test('after a call that took an hour, the next one waits for a short time only', async () => {
  vi.useRealTimers()
  let usedMs = 0
  const turns = createTenantTurns({ ...limits, tenantWaitMs: 60_000 }, () => usedMs)
  const first = turns.run('one', async () => {
    usedMs += 3_600_000
  })
  const second = turns.run('one', async () => 'done')
  await expect(Promise.all([first, second])).resolves.toEqual([undefined, 'done'])
})

test('a call begins under fake timers, which tests of an application may use', async () => {
  vi.useFakeTimers()
  await expect(createTenantTurns(limits).run('one', async () => 'done')).resolves.toBe('done')
})

test('a call that used 20 ms pauses until calls of other tenants had their turns', async () => {
  let usedMs = 0
  const turns = createTenantTurns(limits, () => usedMs)
  const order: string[] = []
  const long = turns.run('one', async (pause) => {
    for (const part of ['a', 'b', 'c']) {
      order.push(part)
      usedMs += 10
      await pause()
    }
  })
  const other = turns.run('two', async () => void order.push('other'))
  await vi.advanceTimersByTimeAsync(0)
  await Promise.all([long, other])
  expect(order).toEqual(['a', 'b', 'other', 'c'])
  expect(turns.load().tenants).toBe(0)
})

test('a call that pauses goes on although its tenant has no room for further calls', async () => {
  let usedMs = 0
  const turns = createTenantTurns({ ...limits, tenantCallsAtOnce: 1 }, () => usedMs)
  const order: string[] = []
  const long = turns.run('one', async (pause) => {
    for (const part of ['a', 'b']) {
      order.push(part)
      usedMs += 20
      await pause()
    }
  })
  const waiting = turns.run('one', async () => void order.push('waiting'))
  await Promise.all([long, waiting])
  expect(order).toEqual(['a', 'b', 'waiting'])
})
