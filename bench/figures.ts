/** One measured number of ours. A target makes it pass or miss. Without one it is there to be read. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** What was measured beside it in the same run, in the same unit. */
  readonly peers?: Readonly<Record<string, number>>
  readonly target?: Target
}

/** The most or the least that the value may be, or with `of`, that it may be divided by the one of this peer. */
export type Target = ({ readonly most: number } | { readonly least: number }) & { readonly of?: string }

export function isMet({ value, peers = {}, target }: Figure): boolean {
  if (target === undefined) return true
  const held = target.of === undefined ? value : value / (peers[target.of] ?? Number.NaN)
  return 'most' in target ? held <= target.most : held >= target.least
}

/** The cells of a row: name, value with its unit, peers, target, and `met` or `missed`. */
export function cellsOf(figure: Figure): string[] {
  const { name, value, unit, peers = {}, target } = figure
  const beside = Object.entries(peers).map(([peer, of]) => `${peer} ${shown(of)}`)
  return [
    name,
    `${shown(value)} ${unit}`,
    beside.join(', '),
    target ? shownTarget(target) : '',
    target ? (isMet(figure) ? 'met' : 'missed') : '',
  ]
}

export function figureLine(figure: Figure): string {
  const [name = '', value = '', ...rest] = cellsOf(figure)
  return `${name.padEnd(44)}${value.padStart(20)}  ${rest.filter(Boolean).join('; ')}`.trimEnd().concat('\n')
}

function shownTarget(target: Target): string {
  const bound = 'most' in target ? `at most ${shown(target.most)}` : `at least ${shown(target.least)}`
  return target.of === undefined ? bound : `${bound} × ${target.of}`
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
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}
