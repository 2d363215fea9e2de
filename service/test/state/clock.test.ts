import { expect, test } from 'vitest'
import { createClock } from '../../src/state.ts'

test('a wall clock that steps back does not take the service along', () => {
  let wallMs = 10_000
  const clock = createClock(() => wallMs)
  expect(clock.nowMs()).toBe(10_000)
  wallMs -= 3_600_000
  expect(clock.nowMs()).toBe(10_000)
})

test('the clock can be moved ahead and stopped, and goes on from where it stood', () => {
  let wallMs = 0
  const clock = createClock(() => wallMs)
  clock.advance(500)
  clock.freeze()
  wallMs = 1_000
  expect(clock.nowMs()).toBe(500)
  clock.advance(1)
  expect(clock.nowMs()).toBe(501)
  clock.unfreeze()
  wallMs = 1_100
  expect(clock.nowMs()).toBe(601)
})
