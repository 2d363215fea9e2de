/** A random wait between half and all of a cap that grows from 0.5 s to 30 s. `failures` counts from 1. */
export function backoffMs(failures: number): number {
  const capMs = Math.min(500 * 2 ** (failures - 1), 30_000)
  return capMs * (1 - randomFraction() / 2)
}

/** From 0 up to, not including, 1. */
export function randomFraction(): number {
  const [value = 0] = crypto.getRandomValues(new Uint32Array(1))
  return value / 2 ** 32
}
