import { toolLimits } from '../limits.ts'

/**
 * The only time source of the service. It can be moved ahead or stopped (until `clockMs`, 253,402,300,799,999), and it never goes
 * back (S-057).
 */
export interface ServiceClock {
  nowMs(): number
  advance(ms: number): void
  freeze(): void
  unfreeze(): void
  state(): ClockState
  /** The time before which data may be removed. A test moves the clock of one process, and others share the data. */
  purgeMs(): number
}

export type ClockState = 'running' | 'frozen'

export function createClock(wallMs: () => number = Date.now): ServiceClock {
  let offsetMs = 0
  let frozenMs: number | undefined
  let latestMs = Number.NEGATIVE_INFINITY

  function nowMs(): number {
    latestMs = Math.max(latestMs, frozenMs ?? wallMs() + offsetMs)
    return latestMs
  }
  return {
    nowMs,
    advance(ms) {
      if (!Number.isSafeInteger(ms) || ms < 0)
        throw new RangeError('the clock moves ahead by a whole number of milliseconds, 0 or more')
      if (ms > toolLimits.clockMs - nowMs())
        throw new RangeError('the clock goes to the end of the year 9999; advance it less')
      offsetMs += ms
      if (frozenMs !== undefined) frozenMs += ms
    },
    freeze() {
      frozenMs ??= nowMs()
    },
    unfreeze() {
      if (frozenMs === undefined) return
      offsetMs = frozenMs - wallMs()
      frozenMs = undefined
    },
    purgeMs: () => Math.min(nowMs(), wallMs()),
    state: () => (frozenMs === undefined ? 'running' : 'frozen'),
  }
}
