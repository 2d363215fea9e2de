/** How long a task takes, in milliseconds: the least of a few tries, because other work on the machine must not count. */
export async function leastMs(task: () => unknown, enoughMs = 50): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 10 && least >= enoughMs; tries += 1) {
    const startedMs = performance.now()
    await task()
    least = Math.min(least, performance.now() - startedMs)
  }
  return least
}
