/** The clocks of the library, in milliseconds. Only the monotonic one measures durations. */
export interface Clock {
  /** Returns epoch milliseconds. */
  wallMs(): number
  /** Returns milliseconds that never go back. */
  monotonicMs(): number
}

/** The clocks of the platform, looked up at each reading. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
