import type { Clock } from 'agent-auth'
import { onTestFinished, vi } from 'vitest'

export interface VirtualTime {
  readonly clock: Clock
  nowMs(): number
  /** Time passes: timers fire at their moments, and what they set off runs between them. */
  pass(ms: number): Promise<void>
  /** The same in one step, for many small ones: timers due fire, then everything runs that can. */
  tick(ms: number): Promise<void>
  /** Somebody sets the wall clock; the monotonic one goes on. */
  jumpWall(ms: number): void
  /** Advances from timer to timer until the promise settles. */
  until<T>(work: Promise<T>): Promise<T>
  readonly pendingTimers: number
}

/** Replaces the timers until the test ends; both clocks follow them. */
export function virtualTime(startMs: number = Date.UTC(2026, 0, 1)): VirtualTime {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: startMs })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  let skewMs = 0
  const nowMs = (): number => Date.now() - startMs
  return {
    clock: { wallMs: () => Date.now() + skewMs, monotonicMs: () => nowMs() + 1_000 },
    nowMs,
    async pass(ms) {
      await flush()
      await vi.advanceTimersByTimeAsync(ms)
      await flush()
    },
    async tick(ms) {
      vi.advanceTimersByTime(ms)
      await flush()
    },
    jumpWall(ms) {
      skewMs += ms
    },
    async until(work) {
      let settled = false
      const mark = (): void => {
        settled = true
      }
      work.then(mark, mark)
      for (let idle = 0; !settled && idle < 10; ) {
        await flush()
        if (settled) break
        if (vi.getTimerCount() === 0) idle += 1
        else vi.advanceTimersToNextTimer()
      }
      if (!settled) throw new Error('This promise waits for nothing that could happen.')
      return work
    },
    get pendingTimers() {
      return vi.getTimerCount()
    },
  }
}

/** Lets everything run that waits for promises only. */
export function flush(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
