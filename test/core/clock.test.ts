import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/internal/clock.ts'

test('the monotonic clock does not follow a wall clock that is put back, and each reading looks the clocks up', () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_000_000 })
  onTestFinished(() => void vi.useRealTimers())
  const beforeMs = systemClock.monotonicMs()
  vi.advanceTimersByTime(5_000)
  vi.setSystemTime(10)
  expect({ wallMs: systemClock.wallMs(), passedMs: systemClock.monotonicMs() - beforeMs }).toEqual({
    wallMs: 10,
    passedMs: 5_000,
  })
})
