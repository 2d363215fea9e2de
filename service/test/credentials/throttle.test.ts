import { beforeEach, expect, test } from 'vitest'
import {
  type AttemptResult,
  createClock,
  createThrottle,
  type ServiceClock,
  type Throttle,
  type ThrottlePolicy,
} from '../../src/state.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

const policy: ThrottlePolicy = {
  freeFailures: 1,
  firstDelayMs: minuteMs,
  longestDelayMs: hourMs / 4,
  rememberMs: hourMs,
  afterSuccess: 'forget',
}

let clock: ServiceClock
let throttle: Throttle
beforeEach(() => use({}))

function use(changes: Partial<ThrottlePolicy>): void {
  clock = createClock(() => Date.UTC(2026, 0, 1))
  throttle = createThrottle(clock, { ...policy, ...changes })
}

/** Begins an attempt. Returns how long its caller was told to wait, or the function that ends it. */
function begin(key = 'key'): number | ((result: AttemptResult) => void) {
  const admission = throttle.admit(key)
  return admission.kind === 'wait' ? admission.retryAfterMs : admission.settle
}

/** An attempt that ends at once. */
function attempt(result: AttemptResult = 'failure'): number {
  const begun = begin()
  if (typeof begun === 'number') return begun
  begun(result)
  return 0
}

const attempts = (count: number): number[] => Array.from({ length: count }, () => attempt())

/** So many guesses at once. Returns how many were compared. */
function burst(count: number): number {
  const begun = Array.from({ length: count }, () => begin()).filter((one) => typeof one !== 'number')
  for (const end of begun) end('failure')
  return begun.length
}

test('failures are remembered for an hour after the delay that they brought', () => {
  expect(attempts(3)).toEqual([0, 0, minuteMs])
  clock.advance(minuteMs + hourMs - 1)
  // Still known: the delay doubles.
  expect(attempts(2)).toEqual([0, 2 * minuteMs])
  clock.advance(2 * minuteMs + hourMs)
  expect(attempts(3)).toEqual([0, 0, minuteMs])
})

test('ninety guesses at once are no more than one after the other, and at each end of a delay one', () => {
  use({ freeFailures: 5 })
  expect(burst(90)).toBe(5)
  expect(burst(90)).toBe(1)
  for (const delayMs of [minuteMs, 2 * minuteMs, 4 * minuteMs, 8 * minuteMs, hourMs / 4, hourMs / 4]) {
    clock.advance(delayMs - 1)
    expect(burst(90)).toBe(0)
    clock.advance(1)
    expect(burst(90)).toBe(1)
  }
})

test('an attempt beside another one that could use up the free failures is told to come again', () => {
  const first = begin()
  expect(begin()).toBe(1_000)
  if (typeof first === 'function') first('success')
  expect(attempt('success')).toBe(0)
})

test('an undecided attempt is no failure of a user', () => {
  expect(Array.from({ length: 10 }, () => attempt('undecided'))).toEqual(Array(10).fill(0))
})

test('a success forgets failures, unless the policy keeps them', () => {
  for (const afterSuccess of ['forget', 'keep'] as const) {
    use({ afterSuccess })
    expect(attempts(1)).toEqual([0])
    expect(attempt('success')).toBe(0)
    expect(attempts(2)).toEqual([0, afterSuccess === 'keep' ? minuteMs : 0])
  }
})

test('after the last of a hundred failures there is one attempt a day', () => {
  use({ stop: { failures: 100, delayMs: 24 * hourMs } })
  for (let failures = 0; failures < 100; ) {
    const waitMs = attempt()
    if (waitMs === 0) failures += 1
    clock.advance(waitMs)
  }
  expect(attempt()).toBe(24 * hourMs)
  clock.advance(24 * hourMs - 1)
  expect(attempt()).toBe(1)
  clock.advance(1)
  expect(attempts(2)).toEqual([0, 24 * hourMs])
})

test('of a hundred thousand keys and one, the one that failed longest ago is forgotten', () => {
  use({ freeFailures: 0 })
  for (let index = 0; index < 100_000; index += 1) throttle.settle(`key ${index}`, 'failure')
  // Only a failure takes a place.
  for (let index = 0; index < 10; index += 1) begin(`invented ${index}`)
  throttle.settle('key 0', 'failure')
  throttle.settle('one more', 'failure')
  const waits = ['key 0', 'key 1', 'key 2', 'one more'].map((key) => throttle.waitMs(key))
  expect(waits).toEqual([2 * minuteMs, 0, minuteMs, minuteMs])
})
