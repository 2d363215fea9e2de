import { afterEach, expect, test, vi } from 'vitest'
import { until, untilServer } from './support/until.ts'

afterEach(() => void vi.useRealTimers())

test('a condition that does not come true is waited for a minute, and named in the error', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  let turns = 0
  const waiting = until(() => ++turns < 0)
  const settled = waiting.then(
    () => 'true',
    (error: Error) => error.message,
  )
  vi.advanceTimersByTime(60_000)
  await new Promise((resolve) => setImmediate(resolve))
  const afterAMinute = turns
  expect(afterAMinute).toBeGreaterThan(1)
  vi.advanceTimersByTime(1)
  expect(await settled).toBe('This has not come true within 60000 ms: () => ++turns < 0')
  expect(turns).toBe(afterAMinute + 1)
})

test('a server whose condition does not come true is looked at for 90 s, also if it does not respond', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const settled = untilServer('settle', () => Promise.reject(new Error('not here'))).then(
    () => 'settled',
    (error: Error) => error.message,
  )
  vi.advanceTimersByTime(90_001)
  expect(await settled).toBe('The server did not settle within 90000 ms.')
})
