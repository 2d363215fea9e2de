import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Costs } from './costs.ts'
import type { LockCost } from './lock.ts'
import type { Memory } from './memory.ts'
import type { Outcome } from './scenarios.ts'

/** What the last run of each part measured. */
export interface Results {
  readonly outage?: { readonly sessions: number; readonly outcomes: readonly Outcome[] }
  readonly costs?: readonly Costs[]
  readonly memory?: readonly Memory[]
  readonly lock?: readonly LockCost[]
}

const file = fileURLToPath(new URL('../scale.json', import.meta.url))

export function readResults(): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results
}

/** Keeps the results of the other parts. */
export function saveResults(part: Results): void {
  // One line for each list of plain numbers, so that the file can be read.
  const text = JSON.stringify({ ...readResults(), ...part }, null, 2).replace(/\[[\d\s,.]+\]/g, (list) =>
    list.replace(/\s+/g, ' '),
  )
  writeFileSync(file, `${text}\n`)
}
