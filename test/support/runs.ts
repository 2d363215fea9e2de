import type { TestOptions } from 'vitest'

/** The size of a property: its rounds, and how long they may take. The second number is the size of a long run. */
export function runs(
  numRuns: number,
  _long: number,
  timeoutMs = 180_000,
): { readonly numRuns: number; readonly options: TestOptions } {
  return { numRuns, options: { timeout: timeoutMs } }
}

/** Always 0: there is no long run. */
export function soakShare(): number {
  return 0
}
