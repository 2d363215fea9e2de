import { readFileSync } from 'node:fs'
import type { Mutant } from './mutants.ts'

/** A change that no test can notice, found again by the text of its line. */
export interface Equivalent {
  readonly file: string
  readonly source: string
  readonly was: string
  readonly becomes: string
  readonly reason: string
}

export const equivalents: readonly Equivalent[] = JSON.parse(
  readFileSync(new URL('./equivalent.json', import.meta.url), 'utf8'),
)

export function isEquivalent(mutant: Mutant): boolean {
  return equivalents.some((listed) => isSame(listed, mutant))
}

export function isSame(listed: Equivalent, mutant: Mutant): boolean {
  const keys = ['file', 'source', 'was', 'becomes'] as const
  return keys.every((key) => listed[key] === mutant[key])
}
