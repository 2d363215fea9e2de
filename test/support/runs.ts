import type { TestOptions } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** How many rounds one repeat of the test is. */
    numRuns?: number
  }
}

/**
 * The size of a test: `numRuns` rounds, and under `npm run soak` `long` of them. The long size repeats the ordinary test, each
 * time with other seeds, so its timeout and what is looked at after it stay what they are.
 */
export function runs(numRuns: number, long: number): { readonly numRuns: number; readonly options: TestOptions } {
  const repeats = Math.max(0, Math.ceil((long * soakShare()) / numRuns) - 1)
  return { numRuns, options: { repeats, meta: { numRuns } } }
}

/** Which part of the long sizes is wanted: 1 is all, 0 is an ordinary run. */
export function soakShare(): number {
  return Number(process.env.SOAK_SHARE ?? 0)
}
