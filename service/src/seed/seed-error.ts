interface Where {
  file?: string | undefined
  /** Line and column. */
  place?: string | undefined
  /** As code writes it. */
  path?: string | undefined
}

/** A mistake in a seed. The message has the file, the line and column, and the path, as far as they are known. */
export class SeedError extends Error {
  override readonly name: string = 'SeedError'
  readonly file: string | undefined
  readonly place: string | undefined
  readonly path: string | undefined

  constructor(
    readonly problem: string,
    { file, place, path }: Where = {},
  ) {
    const where = [file ?? 'seed', place].filter((part) => part !== undefined).join(':')
    super(`${where}: ${path ? `${path}: ` : ''}${problem}`)
    this.file = file
    this.place = place
    this.path = path
  }
}

/** Writes a path as code does: `people[0].email`. Other text than a name may be a value in the wrong place, such as a secret. */
export function pathText(path: readonly PropertyKey[]): string {
  const nameOf = (step: string): string => (/^\w{1,32}$/.test(step) ? step : '…')
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${nameOf(String(step))}`))
    .join('')
    .replace(/^\./, '')
}
