/** One measured number of ours. A target makes it pass or miss; without one it is there to be read. */
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

/** How much a bench measures. A short one shows that it works, and its figures mean little. */
export type Size = 'whole' | 'short'

export function isMet({ target, ...figure }: Figure): boolean {
  if (target === undefined) return true
  const value = heldValue({ ...figure, target })
  return 'most' in target ? value <= target.most : value >= target.least
}

/** Returns the number that the target is about: the value, or its ratio to that of a peer. */
export function heldValue({ value, peers = {}, target }: Figure): number {
  return target?.of === undefined ? value : value / (peers[target.of] ?? Number.NaN)
}

/** The exit code of a bench: 1 if a target was missed. */
export function exitCodeOf(figures: readonly Figure[]): 0 | 1 {
  return figures.every(isMet) ? 0 : 1
}

/** One line: name, value, peers, target, and `pass` or `MISSED`. */
export function figureLine(figure: Figure): string {
  const { name, value, unit, target } = figure
  const peers = shownPeers(figure)
  const figures = `${name.padEnd(58)}${shown(value).padStart(9)} ${unit.padEnd(14)}${peers && ` ${peers};`}`
  if (target === undefined) return `${figures.replace(/[\s;]+$/, '')}\n`
  return `${figures} ${shownRatio(figure)}${shownTarget(target).padEnd(14)} ${isMet(figure) ? 'pass' : 'MISSED'}\n`
}

/** Returns each peer with its value. */
export function shownPeers({ peers = {} }: Figure): string {
  return Object.entries(peers)
    .map(([peer, value]) => `${peer} ${shown(value)}`)
    .join(', ')
}

/** Returns the ratio that the target is about, or nothing if it is about the value. */
export function shownRatio(figure: Figure): string {
  return figure.target?.of === undefined ? '' : `${shown(heldValue(figure))} x ${figure.target.of}, `
}

export function shownTarget(target: Target): string {
  const bound = 'most' in target ? `at most ${shown(target.most)}` : `at least ${shown(target.least)}`
  return target.of === undefined ? bound : `${bound} x`
}

/** Three significant digits, and no decimals that mean nothing. */
export function shown(value: number): string {
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
