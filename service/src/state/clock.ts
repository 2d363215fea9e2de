/** The one time source of the service. It can be moved ahead or stopped, and it never goes back (S-057). */
export interface ServiceClock {
  nowMs(): number
  advance(ms: number): void
  freeze(): void
  unfreeze(): void
  state(): ClockState
  /** The time up to which data may be removed: tests move the clock of one process, and others share the data. */
  purgeMs(): number
}

export type ClockState = 'running' | 'frozen'

/** The last millisecond of the year 9999: later times have no four-digit year, and from 275760 on no date at all. */
const latestTimeMs = 253_402_300_799_999

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
      if (!Number.isSafeInteger(ms) || ms < 0) throw new RangeError('the clock moves ahead by a whole number of ms')
      if (ms > latestTimeMs - nowMs()) throw new RangeError('the clock stops before the year 10000')
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
