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

/** Looks every 20 ms whether a condition of a server holds, for a minute. A server that does not respond counts as one without it. */
export async function untilServer(does: string, holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + mostMs
  while (!(await holds().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`The server did not ${does} within ${mostMs} ms.`)
    await sleep(20)
  }
}
