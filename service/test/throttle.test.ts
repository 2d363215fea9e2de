import { beforeEach, expect, test } from 'vitest'
import type { Throttle } from '../src/auth/throttle.ts'
import { createThrottle } from '../src/auth/throttle.ts'
import type { ServiceClock } from '../src/clock.ts'
import { createClock } from '../src/clock.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

let clock: ServiceClock
let throttle: Throttle
beforeEach(() => {
  clock = createClock(() => Date.UTC(2026, 0, 1))
  throttle = createThrottle(clock, {
    freeFailures: 1,
    firstDelayMs: minuteMs,
    longestDelayMs: hourMs / 4,
    mostAtOnce: 2,
    afterSuccess: 'forget',
  })
})

/** An attempt that ends at once; how long its caller was told to wait, or 0. */
function fail(key = 'key'): number {
  const admission = throttle.admit(key)
  if (admission.kind === 'wait') return admission.retryAfterMs
  admission.settle('failure')
  return 0
}

test('S-021 failures are remembered for an hour after the delay that they brought', () => {
  expect([fail(), fail(), fail()]).toEqual([0, 0, minuteMs])
  clock.advance(minuteMs + hourMs - 1)
  // Still known: the delay doubles.
  expect([fail(), fail()]).toEqual([0, 2 * minuteMs])
  clock.advance(2 * minuteMs + hourMs)
  expect([fail(), fail(), fail()]).toEqual([0, 0, minuteMs])
})

test('S-021 an attempt under way counts however long it takes, also when the memory is cleaned up', () => {
  const open = [throttle.admit('key'), throttle.admit('key')]
  expect(open.map(({ kind }) => kind)).toEqual(['go', 'go'])
  clock.advance(2 * hourMs)
  expect(throttle.admit('key')).toEqual({ kind: 'wait', retryAfterMs: minuteMs })
  for (let index = 0; index < 10_001; index += 1) fail(`other ${index}`)
  expect(throttle.admit('key')).toEqual({ kind: 'wait', retryAfterMs: minuteMs })
})

test('S-021 what is forgotten leaves the memory when that has grown', () => {
  for (let index = 0; index < 10_000; index += 1) fail(`one ${index}`)
  expect(throttle.size).toBe(10_000)
  clock.advance(2 * hourMs)
  fail('the next')
  expect(throttle.size).toBe(1)
})

test('S-021 a hundred thousand keys within an hour cost no more time each than ten thousand', () => {
  const startedMs = performance.now()
  for (let index = 0; index < 100_000; index += 1) fail(`key ${index}`)
  // Looking at all of them for each new one takes a minute.
  expect(performance.now() - startedMs).toBeLessThan(5_000)
  expect(throttle.size).toBe(100_000)
})
