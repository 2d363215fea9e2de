import { setTimeout as sleep } from 'node:timers/promises'

const mostMs = 60_000

/**
 * Lets the event loop turn until the condition holds, without timers, which a test may have replaced. Rejects after a minute, because
 * a loop without an end would outlive its test.
 */
export async function until(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + mostMs
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`This has not come true within ${mostMs} ms: ${condition}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** A Cluster of a busy machine takes longer to agree than a condition of this process takes. */
const mostOfServerMs = 90_000

/** Looks every 20 ms whether a condition of a server holds, for 90 s. A server that does not respond counts as one without it. */
export async function untilServer(does: string, holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + mostOfServerMs
  while (!(await holds().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`The server did not ${does} within ${mostOfServerMs} ms.`)
    await sleep(20)
  }
}
