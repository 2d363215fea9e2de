import type { TestOptions } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** How many rounds one repeat of the test is. */
    numRuns?: number
  }
}

/**
 * The size of a test: `numRuns` rounds, and under `npm run soak` `long` of them. The long size repeats the ordinary test, each
 * time with other seeds, so what is looked at after it stays what it is. `timeoutMs` is for one repeat, by default
 * as for any test, and ten times as much under a soak, which runs beside other work.
 */
export function runs(
  numRuns: number,
  long: number,
  timeoutMs = 180_000,
): { readonly numRuns: number; readonly options: TestOptions } {
  const share = soakShare()
  const repeats = Math.max(0, Math.ceil((long * share) / numRuns) - 1)
  return { numRuns, options: { repeats, timeout: share > 0 ? 10 * timeoutMs : timeoutMs, meta: { numRuns } } }
}

/** Which part of the long sizes is wanted: 1 is all, 0 is an ordinary run. */
export function soakShare(): number {
  return Number(process.env.SOAK_SHARE ?? 0)
}
