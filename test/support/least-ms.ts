import { processorMs } from './processor-ms.ts'

/** How much processor time a task takes, in milliseconds: the least of a few tries, because the first ones compile it. */
export async function leastMs(task: () => unknown, enoughMs = 50): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 10 && least >= enoughMs; tries += 1) least = Math.min(least, await processorMs(task))
  return least
}
