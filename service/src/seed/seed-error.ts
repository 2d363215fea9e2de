/** A mistake in a seed. The message has the file, if there is one, and the path in it. */
export class SeedError extends Error {
  override readonly name: string = 'SeedError'

  constructor(
    readonly problem: string,
    file?: string,
  ) {
    super(`${file ?? 'seed'}: ${problem}`)
  }
}
