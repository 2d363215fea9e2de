import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exitCodeOf, type Figure, figureLine, isMet, type Size } from './figures.ts'
import type { Group } from './groups.ts'
import { measuredCommit, otherWork, thisMachine } from './machine.ts'
import { numbersPage } from './page.ts'
import { type Measured, type Results, readResults, saveResults, withGroup } from './results.ts'
import { packageVersion, programVersion } from './versions.ts'

/** The files that a run writes. */
export interface Outputs {
  readonly results: string
  readonly page: string
  readonly plot: string
}

/** How long other work is watched before and after each group. */
const watchMs = { whole: 1_000, short: 50 }

/** Returns the files in this folder, or by default those of the repository. */
export function outputsIn(folder: string | undefined): Outputs {
  const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
  return folder === undefined
    ? { results: at('bench/results.json'), page: at('docs/numbers.md'), plot: at('docs/numbers.svg') }
    : { results: join(folder, 'results.json'), page: join(folder, 'numbers.md'), plot: join(folder, 'numbers.svg') }
}

/** Measures the groups, writes the files after each one and prints one table at the end. Resolves to the exit code. */
export async function runGroups(
  groups: readonly Group[],
  { size, outputs }: { size: Size; outputs: Outputs },
): Promise<0 | 1> {
  const last = { at: new Date().toISOString(), commit: measuredCommit() }
  mkdirSync(dirname(outputs.results), { recursive: true })
  let results = readResults(outputs.results)
  const done = new Map<string, readonly Figure[]>()
  for (const [index, group] of groups.entries()) {
    process.stderr.write(`${group.name}, ${index + 1} of ${groups.length}: ${group.measures}\n`)
    try {
      const { measured, figures } = await measure(group, { size, run: last.at })
      results = { ...withGroup(results, { group: group.name, measured, figures }), last }
      done.set(group.name, figures)
      saveResults(outputs.results, results)
    } catch (error) {
      process.stderr.write(`${group.name} failed: ${error instanceof Error ? error.message : String(error)}\n`)
    }
  }
  if (done.size > 0) await writePage(results, outputs)
  printTable(done)
  const failed = groups.map(({ name }) => name).filter((name) => !done.has(name))
  if (failed.length > 0) process.stdout.write(`Not measured, because they failed: ${failed.join(', ')}.\n`)
  return failed.length > 0 ? 1 : exitCodeOf([...done.values()].flat())
}

async function measure(
  group: Group,
  { size, run }: { size: Size; run: string },
): Promise<{ measured: Measured; figures: readonly Figure[] }> {
  const at = new Date().toISOString()
  const before = await otherWork(watchMs[size])
  const figures = await (await group.load())(size)
  const after = await otherWork(watchMs[size])
  const measured = {
    ...{ run, at, commit: measuredCommit(), machine: thisMachine() },
    otherWork: Math.round(Math.max(before, after) * 100) / 100,
    versions: Object.fromEntries([
      ...(group.packages ?? []).map((name) => [name, packageVersion(name)]),
      ...(group.programs ?? []).map((title) => [title, programVersion(title)]),
    ]),
  }
  return { measured, figures }
}

function printTable(done: ReadonlyMap<string, readonly Figure[]>): void {
  for (const [name, figures] of done)
    process.stdout.write(`\n${name}\n${figures.map((figure) => figureLine(figure)).join('')}`)
  const held = [...done.values()].flat().filter(({ target }) => target !== undefined)
  process.stdout.write(`\n${held.filter(isMet).length} of ${held.length} targets met.\n`)
}

/** Writes the page and its plot from the results. */
async function writePage(results: Results, { page, plot }: Outputs): Promise<void> {
  const { numbersPlot } = await import('./plot.ts')
  writeFileSync(page, numbersPage(results))
  writeFileSync(plot, numbersPlot(results))
}
