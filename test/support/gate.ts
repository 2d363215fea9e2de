import { deferred } from '../../src/internal/timeouts.ts'

/** A promise that is resolved by hand. */
export function gate(): { readonly passed: Promise<undefined>; open(): void } {
  const { promise, resolve } = deferred<undefined>()
  return { passed: promise, open: () => resolve(undefined) }
}
