import { firstBackoffMs, maxBackoffMs } from './limits.ts'

/**
 * Returns a random wait between half of a cap and the cap, which doubles with each failure from `firstBackoffMs`, 500 ms, to
 * `maxBackoffMs`, 30 s. `failures` counts from 1.
 */
export function backoffMs(failures: number): number {
  const capMs = Math.min(firstBackoffMs * 2 ** (failures - 1), maxBackoffMs)
  return capMs * (1 - randomFraction() / 2)
}

/** Returns a random number from 0 up to, but not including, 1. */
export function randomFraction(): number {
  const [value = 0] = crypto.getRandomValues(new Uint32Array(1))
  return value / 2 ** 32
}
