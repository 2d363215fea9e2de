import { afterEach, expect, test, vi } from 'vitest'
import { until } from './support/until.ts'

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
