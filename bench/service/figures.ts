/** One measured number. A target makes it pass or miss; without one it is there to be read. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly target?: { readonly most: number } | { readonly least: number }
}

export function isMet({ value, target }: Figure): boolean {
  if (target === undefined) return true
  return 'most' in target ? value <= target.most : value >= target.least
}

/** The exit code of a bench: 1 if a target was missed. */
export function exitCodeOf(figures: readonly Figure[]): 0 | 1 {
  return figures.every(isMet) ? 0 : 1
}

/** One line: name, value, target, and `pass` or `MISSED`. */
export function figureLine(figure: Figure): string {
  const { name, value, unit, target } = figure
  const figures = `${name.padEnd(58)}${shown(value).padStart(9)} ${unit.padEnd(14)}`
  if (target === undefined) return `${figures.trimEnd()}\n`
  const bound = 'most' in target ? `at most ${shown(target.most)}` : `at least ${shown(target.least)}`
  return `${figures} ${bound.padEnd(14)} ${isMet(figure) ? 'pass' : 'MISSED'}\n`
}

/** Three significant digits, and no decimals that mean nothing. */
function shown(value: number): string {
  if (!Number.isFinite(value)) return '-'
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
