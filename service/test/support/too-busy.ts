import { storeLimits } from '../../src/limits.ts'

const maxTries = 20

/**
 * Repeats the request after each 503 that took as long as the store waits for a lock, `maxTries` times at most: the machine was slow, and
 * the service changed nothing. A quicker 503, and the last one, is returned.
 */
export async function unlessTooBusy(ask: () => Promise<Response>): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const startMs = performance.now()
    const answer = await ask()
    const isSlowRefusal = answer.status === 503 && performance.now() - startMs >= storeLimits.lockWaitMs
    if (!isSlowRefusal || tries === maxTries) return answer
  }
}
