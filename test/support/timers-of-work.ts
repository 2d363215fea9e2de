import { AsyncLocalStorage } from 'node:async_hooks'
import { onTestFinished } from 'vitest'

/** The timers of some work, and of all that it began. */
export interface TimersOfWork {
  /** Runs the work, whose timers count from then on. */
  run<T>(work: () => T): T
  /** Returns how many of them have neither fired nor been cleared. */
  pendingCount(): number
}

/**
 * Watches the timers of some work until the test ends, without intervals. Fake timers must be in place before. `vi.getTimerCount()`
 * also counts those of sockets and services that other files of the same worker left behind.
 */
export function timersOfWork(): TimersOfWork {
  const context = new AsyncLocalStorage<true>()
  const pending = new Set<unknown>()
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const watched = {
    setTimeout(fire: (...given: unknown[]) => void, ms?: number, ...given: unknown[]): unknown {
      const timer = set(() => {
        pending.delete(timer)
        fire(...given)
      }, ms)
      if (context.getStore()) pending.add(timer)
      return timer
    },
    clearTimeout(timer: ReturnType<typeof setTimeout> | undefined): void {
      pending.delete(timer)
      clear(timer)
    },
  } as Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>
  // Fake timers keep on their functions what puts back the real ones.
  Object.assign(watched.setTimeout, set)
  Object.assign(watched.clearTimeout, clear)
  Object.assign(globalThis, watched)
  onTestFinished(() => {
    context.disable()
    // A test that replaced the timers before may have put back the real ones already.
    if (globalThis.setTimeout === watched.setTimeout)
      Object.assign(globalThis, { setTimeout: set, clearTimeout: clear })
  })
  return { run: (work) => context.run(true, work), pendingCount: () => pending.size }
}
