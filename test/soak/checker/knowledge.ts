import type { Call, SessionHistory } from './sessions.ts'

/**
 * How long a holder may use its memory after a change by another holder, in milliseconds: a session reads the storage again when
 * a read is a second old, and one read takes at most five seconds. Time in which its process stood still is added.
 */
export const staleMs = 6_000

/** Returns whether the holder read the storage after the end, made it itself, or should have read. */
export function mustKnow({ stalls }: SessionHistory, call: Call, end: Call): boolean {
  if (call.holder === end.holder || call.readMs > end.toMs) return true
  const stoodStillMs = stalls
    .filter(({ process }) => process === call.process)
    .map(({ monotonicMs, forMs }) => Math.min(monotonicMs, call.fromMs) - Math.max(monotonicMs - forMs, end.toMs))
  return call.fromMs - sum(stoodStillMs.filter((ms) => ms > 0)) > end.toMs + staleMs
}

/** Returns whether the holder of a sign-out was given or had returned a token of this sign-in before it. */
export function hadLine({ calls }: SessionHistory, signOut: Call, signIn: Call | undefined): boolean {
  return calls.some(
    (call) =>
      call.holder === signOut.holder &&
      call.toMs < signOut.fromMs &&
      call.issued !== undefined &&
      call.issued.line === signIn?.issued?.line,
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
