import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Figure, isMet, type Target } from './figures.ts'
import type { Machine } from './machine.ts'

/** One figure as the file keeps it. */
export interface Row {
  readonly group: string
  readonly name: string
  readonly unit: string
  readonly value: number
  readonly peers?: Readonly<Record<string, number>>
  readonly target?: Target
  readonly verdict?: 'pass' | 'missed'
}

/** When, where and of what the figures of one group were measured. */
export interface Measured {
  /** When the run began that measured them, in UTC as ISO 8601. */
  readonly run: string
  /** When their own measurement began. */
  readonly at: string
  readonly commit: string
  readonly machine: Machine
  /** Which share of the processors other work took, 0 to 1, before or after, the larger. */
  readonly otherWork: number
  readonly versions: Readonly<Record<string, string>>
}

/** The last figures of each group. A run replaces those of the groups that it measured. */
export interface Results {
  readonly last: { readonly at: string; readonly commit: string }
  readonly measured: Readonly<Record<string, Measured>>
  readonly figures: readonly Row[]
}

const none: Results = { last: { at: '', commit: '' }, measured: {}, figures: [] }

/** Returns what the file holds, and nothing measured if it does not exist. */
export function readResults(file: URL | string): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : none
}

export function saveResults(file: URL | string, results: Results): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
}

/** Returns the results with the figures of this group in the place of its earlier ones. */
export function withGroup(
  results: Results,
  { group, measured, figures }: { group: string; measured: Measured; figures: readonly Figure[] },
): Results {
  return {
    ...results,
    measured: { ...results.measured, [group]: measured },
    figures: [...results.figures.filter((row) => row.group !== group), ...figures.map((one) => rowOf(group, one))],
  }
}

function rowOf(group: string, figure: Figure): Row {
  const { name, unit, value, peers, target } = figure
  for (const one of [value, ...Object.values(peers ?? {})])
    if (!Number.isFinite(one)) throw new Error(`${name} was not measured.`)
  return {
    ...{ group, name, unit, value: rounded(value) },
    ...(peers && { peers: Object.fromEntries(Object.entries(peers).map(([peer, one]) => [peer, rounded(one)])) }),
    // Of what was measured, since a rounded value may be on the other side of its target.
    ...(target && { target, verdict: isMet(figure) ? 'pass' : 'missed' }),
  }
}

function rounded(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4))
}
