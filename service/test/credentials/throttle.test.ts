// Also tests service/src/credentials/failure-records.ts.
import { beforeEach, expect, test } from 'vitest'
import { processorMs } from '../../../test/support/processor-ms.ts'
import type { Throttle, ThrottlePolicy } from '../../src/credentials/throttle.ts'
import { createThrottle } from '../../src/credentials/throttle.ts'
import type { ServiceClock } from '../../src/state/clock.ts'
import { createClock } from '../../src/state/clock.ts'

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

/** An attempt that ends at once; how long its caller was told to wait, or 0. */
async function attempt(result: 'failure' | 'success' = 'failure', key = 'key'): Promise<number> {
  const admission = await throttle.admit(key)
  if (admission.kind === 'wait') return admission.retryAfterMs
  admission.settle(result)
  return 0
}

async function attemptInTurn(count: number): Promise<number[]> {
  const waits: number[] = []
  for (let index = 0; index < count; index += 1) waits.push(await attempt())
  return waits
}

/** So many at once, each with its result; how many were let go. */
async function burst(count: number, result: 'failure' | 'success'): Promise<number> {
  const waits = await Promise.all(Array.from({ length: count }, () => attempt(result)))
  return waits.filter((waitMs) => waitMs === 0).length
}

test('failures are remembered for an hour after the delay that they brought', async () => {
  expect(await attemptInTurn(3)).toEqual([0, 0, minuteMs])
  clock.advance(minuteMs + hourMs - 1)
  // Still known: the delay doubles.
  expect(await attemptInTurn(2)).toEqual([0, 2 * minuteMs])
  clock.advance(2 * minuteMs + hourMs)
  expect(await attemptInTurn(3)).toEqual([0, 0, minuteMs])
})

test('ninety guesses at once are as many as one after the other, and at each end of a delay one', async () => {
  use({ freeFailures: 5 })
  expect(await burst(90, 'failure')).toBe(6)
  for (const delayMs of [minuteMs, 2 * minuteMs, 4 * minuteMs, 8 * minuteMs, hourMs / 4, hourMs / 4]) {
    clock.advance(delayMs - 1)
    expect(await burst(90, 'failure')).toBe(0)
    clock.advance(1)
    expect(await burst(90, 'failure')).toBe(1)
  }
})

test('ninety right passwords at once all get their turn', async () => {
  use({ freeFailures: 5 })
  expect(await burst(5, 'failure')).toBe(5)
  expect(await burst(90, 'success')).toBe(90)
})

test('no more than a hundred attempts at one key wait for those under way', async () => {
  const open = await throttle.admit('key')
  const waiting = Array.from({ length: 100 }, () => attempt('success'))
  expect(await attempt()).toBe(minuteMs)
  if (open.kind === 'go') open.settle('undecided')
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([0]))
})

test('no more than five hundred attempts at all keys together wait, and others pass', async () => {
  const keys = Array.from({ length: 6 }, (_, index) => `key ${index}`)
  const open = await Promise.all(keys.map((key) => throttle.admit(key)))
  const waiting = keys.slice(0, 5).flatMap((key) => Array.from({ length: 100 }, () => attempt('success', key)))
  expect(await attempt('success', 'key 5')).toBe(minuteMs)
  expect(await attempt('success', 'another key')).toBe(0)
  for (const admission of open) if (admission.kind === 'go') admission.settle('undecided')
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([0]))
  // Those that waited have left.
  const last = await throttle.admit('key 5')
  const late = attempt('success', 'key 5')
  if (last.kind === 'go') last.settle('undecided')
  expect(await late).toBe(0)
})

test('an undecided attempt is no failure of a user', async () => {
  for (let count = 0; count < 10; count += 1) {
    const admission = await throttle.admit('key')
    expect(admission.kind).toBe('go')
    if (admission.kind === 'go') admission.settle('undecided')
  }
})

test('after the last of a hundred failures there is one attempt a day', async () => {
  use({ stop: { failures: 100, delayMs: 24 * hourMs } })
  let failures = 0
  while (failures < 100) {
    const waitMs = await attempt()
    if (waitMs === 0) failures += 1
    clock.advance(waitMs)
  }
  expect(await attempt()).toBe(24 * hourMs)
  clock.advance(24 * hourMs - 1)
  expect(await attempt()).toBe(1)
  clock.advance(1)
  expect(await attemptInTurn(2)).toEqual([0, 24 * hourMs])
})

test('an attempt under way counts however long it takes, also when the memory is cleaned up', async () => {
  const open = await throttle.admit('key')
  expect(open.kind).toBe('go')
  clock.advance(2 * hourMs)
  for (let index = 0; index < 10_001; index += 1) throttle.settle(`other ${index}`, 'failure')
  const next = throttle.admit('key')
  expect(await Promise.race([next, 'waits'])).toBe('waits')
  if (open.kind === 'go') open.settle('failure')
  expect(await next).toMatchObject({ kind: 'go' })
  expect(await Promise.race([throttle.admit('key'), 'waits'])).toBe('waits')
})

test('what is forgotten leaves the memory when that has grown', async () => {
  for (let index = 0; index < 10_000; index += 1) throttle.settle(`one ${index}`, 'failure')
  expect(throttle.size).toBe(10_000)
  clock.advance(2 * hourMs)
  await attempt('failure', 'the next')
  expect(throttle.size).toBe(1)
})

test('a hundred thousand keys within an hour take seconds, and of more the one that failed longest ago goes', async () => {
  await attempt('failure', 'first')
  const open = await throttle.admit('under way')
  const tookMs = await processorMs(() => {
    for (let index = 0; index < 99_999; index += 1) throttle.settle(`key ${index}`, 'failure')
  })
  // Looking at all of them for each new one takes a minute.
  expect(tookMs).toBeLessThan(8_000)
  // The key whose attempt is under way has not failed.
  expect(throttle.size).toBe(100_001)
  // It failed again, so that key 0 is now the oldest.
  expect(await attempt('failure', 'first')).toBe(0)
  throttle.settle('one more', 'failure')
  expect(throttle.size).toBe(100_001)
  expect(throttle.waitMs('first')).toBe(minuteMs)
  throttle.settle('key 1', 'failure')
  throttle.settle('key 0', 'failure')
  expect({ keptMs: throttle.waitMs('key 1'), forgottenMs: throttle.waitMs('key 0') }).toEqual({
    keptMs: minuteMs,
    forgottenMs: 0,
  })
  if (open.kind === 'go') open.settle('undecided')
})

test('attempts that are not compared push out no key that failed', async () => {
  use({ stop: { failures: 2, delayMs: 24 * hourMs } })
  expect(await attemptInTurn(2)).toEqual([0, 0])
  for (let index = 0; index < 100_000; index += 1) {
    const admission = await throttle.admit(`invented ${index}`)
    if (admission.kind === 'go') admission.settle('undecided')
  }
  expect(throttle.waitMs('key')).toBe(24 * hourMs)
})

test('keys whose attempt has not ended push out no key that failed', async () => {
  use({ freeFailures: 0 })
  for (let index = 0; index < 100_000; index += 1) throttle.settle(`key ${index}`, 'failure')
  const open = await Promise.all(Array.from({ length: 5 }, (_, index) => throttle.admit(`invented ${index}`)))
  expect({ oldest: throttle.waitMs('key 0'), second: throttle.waitMs('key 1') }).toEqual({
    oldest: minuteMs,
    second: minuteMs,
  })
  // One of them fails: it takes the place of the key that failed longest ago.
  for (const [index, admission] of open.entries()) {
    if (admission.kind === 'go') admission.settle(index === 0 ? 'failure' : 'undecided')
  }
  const waits = Object.fromEntries(['key 0', 'key 1', 'invented 0'].map((key) => [key, throttle.waitMs(key)]))
  expect(waits).toEqual({ 'key 0': 0, 'key 1': minuteMs, 'invented 0': minuteMs })
  expect(throttle.size).toBe(100_000)
})

test('an attempt that began before everything was forgotten changes nothing that came after', async () => {
  use({ freeFailures: 3 })
  for (const result of ['success', 'failure'] as const) {
    const early = await throttle.admit('key')
    throttle.clear()
    for (let failure = 0; failure < 4; failure += 1) throttle.settle('key', 'failure')
    if (early.kind === 'go') early.settle(result)
    expect({ waitMs: throttle.waitMs('key'), size: throttle.size }).toEqual({ waitMs: minuteMs, size: 1 })
    throttle.clear()
  }
  const early = await throttle.admit('key')
  throttle.clear()
  if (early.kind === 'go') early.settle('failure')
  expect(throttle.size).toBe(0)
})

test('only a key that failed is remembered', async () => {
  expect(await attempt('success')).toBe(0)
  expect(throttle.waitMs('asked about')).toBe(0)
  throttle.settle('not admitted', 'success')
  expect(throttle.size).toBe(0)
  expect(await attempt('failure')).toBe(0)
  expect(throttle.size).toBe(1)
  expect(await attempt('success')).toBe(0)
  expect(throttle.size).toBe(0)
})

test('a success forgets failures, but no delay that a failure beside it brought', async () => {
  use({ freeFailures: 2 })
  const [first, second] = [await throttle.admit('key'), await throttle.admit('key')]
  throttle.settle('key', 'failure')
  throttle.settle('key', 'failure')
  for (const [admission, result] of [
    [first, 'failure'],
    [second, 'success'],
  ] as const) {
    if (admission.kind === 'go') admission.settle(result)
  }
  expect({ waitMs: throttle.waitMs('key'), size: throttle.size }).toEqual({ waitMs: minuteMs, size: 1 })
})
