import { storeLimits } from '../src/limits.ts'

/**
 * Asks again after each 503 that took as long as the store waits for a lock: there the machine was slow, and nothing was done. A
 * quicker 503 is an answer like any other.
 */
export async function unlessTooBusy(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const startMs = performance.now()
    const answer = await ask()
    if (answer.status !== 503 || performance.now() - startMs < storeLimits.lockWaitMs) return answer
  }
}
