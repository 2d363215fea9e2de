import type { Clock } from '../../src/internal/clock.ts'

export interface TestClock extends Clock {
  /** Time passes: both clocks move. */
  advance(ms: number): void
  /** Somebody sets the wall clock, forwards or back: the monotonic one goes on. */
  jumpWall(ms: number): void
}

/** A clock that moves only when told to. It has no timers: what waits does so in real time, or on the test's own fake timers. */
export function testClock(startMs: number = Date.UTC(2026, 0, 1)): TestClock {
  let wall = startMs
  // The two readings differ from the start, so that a mix-up shows.
  let monotonic = 1_000
  return {
    wallMs: () => wall,
    monotonicMs: () => monotonic,
    advance(ms) {
      if (ms < 0) throw new RangeError('Time does not pass backwards: use jumpWall.')
      wall += ms
      monotonic += ms
    },
    jumpWall(ms) {
      wall += ms
    },
  }
}
