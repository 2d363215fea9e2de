import type { Clock } from '../internal/clock.ts'

/** A clock that moves only when a test says so. Pass it as `clock` to `createAuthConfig`. */
export interface TestClock extends Clock {
  /** Lets time pass, in milliseconds: both readings move. */
  advance(ms: number): void
  /** Sets the wall clock forwards or back, in milliseconds. The monotonic reading stays. */
  jumpWall(ms: number): void
}

/** Creates a clock that starts at this time, in epoch milliseconds. Default: 2026-01-01. It has no timers. */
export function testClock(startMs: number = Date.UTC(2026, 0, 1)): TestClock {
  let wall = startMs
  // The two readings differ from the start, so that a test notices if one is used for the other.
  let monotonic = 1_000
  return {
    wallMs: () => wall,
    monotonicMs: () => monotonic,
    advance(ms) {
      wall += ms
      monotonic += ms
    },
    jumpWall(ms) {
      wall += ms
    },
  }
}
