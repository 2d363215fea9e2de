import { readFileSync, writeFileSync } from 'node:fs'
import { runCommand } from '../scripts/flags.ts'
import type { Bundle } from './bundle.ts'
import { limits, measureSizes } from './sizes.ts'

const help = `Usage: npm run size [-- --detail] [-- --record]

Bundles every entry, and the core set that a login needs, as an app's bundler would (minified, brotli 11, oauth4webapi and
jose included). Fails when a set is over its budget or anything grew by more than 10 % over bench/size.json.

  --detail   also what each source file contributes, in minified bytes
  --record   write the sizes to bench/size.json; growth over 10 % needs a decision file in docs/decisions/ as well
  --help     this text

Exit codes: 0 within budget and baseline, 1 over one of them, 2 the arguments are wrong.
`

const tolerated = 1.1
const baselineFile = new URL('size.json', import.meta.url)
await runCommand({ name: 'size', help, options: { detail: { type: 'boolean' }, record: { type: 'boolean' } } }, main)

async function main(flags: { detail?: boolean; record?: boolean }): Promise<number> {
  const sizes = await measureSizes()
  const baseline = readBaseline()
  printTable(sizes, baseline)
  if (flags.detail) for (const [name, { parts }] of sizes) printParts(name, parts)
  if (flags.record) record(sizes)
  const problems = [...overBudget(sizes), ...(flags.record ? [] : grown(sizes, baseline))]
  for (const miss of missed(sizes)) process.stdout.write(`${miss}\n`)
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  return problems.length > 0 ? 1 : 0
}

function overBudget(sizes: Map<string, Bundle>): string[] {
  return Object.entries(limits).flatMap(([name, { budget }]) => excess('Over budget', name, sizes.get(name), budget))
}

function missed(sizes: Map<string, Bundle>): string[] {
  return Object.entries(limits).flatMap(([name, { target }]) => excess('Target MISSED', name, sizes.get(name), target))
}

function excess(fact: string, name: string, set: Bundle | undefined, most: number): string[] {
  const { brotli } = set ?? { brotli: Number.POSITIVE_INFINITY }
  if (brotli <= most) return []
  return [`${fact}: ${name} is ${count(brotli)} bytes brotli, ${count(brotli - most)} more than ${count(most)}.`]
}

function grown(sizes: Map<string, Bundle>, baseline: Record<string, number>): string[] {
  return [...sizes].flatMap(([name, { brotli }]) => {
    const recorded = baseline[name]
    if (recorded === undefined) return [`Not recorded: ${name}. Run npm run size -- --record.`]
    if (brotli <= recorded * tolerated) return []
    return [
      `Grown: ${name} is ${count(brotli)} bytes brotli, recorded are ${count(recorded)}. Growth over 10 % needs a decision file in` +
        ' docs/decisions/ that says what it buys; then npm run size -- --record.',
    ]
  })
}

function readBaseline(): Record<string, number> {
  return JSON.parse(readFileSync(baselineFile, 'utf8')) as Record<string, number>
}

function record(sizes: Map<string, Bundle>): void {
  const recorded = Object.fromEntries([...sizes].map(([name, { brotli }]) => [name, brotli]))
  writeFileSync(baselineFile, `${JSON.stringify(recorded, null, 2)}\n`)
}

function printTable(sizes: Map<string, Bundle>, baseline: Record<string, number>): void {
  const width = Math.max(...[...sizes.keys()].map((name) => name.length))
  const row = (name: string, ...cells: string[]): string =>
    `${name.padEnd(width)}${cells.map((cell) => cell.padStart(10)).join('')}\n`
  process.stdout.write(row('bytes', 'minified', 'brotli', 'recorded', 'budget', 'target'))
  for (const [name, { minified, brotli }] of sizes) {
    const recorded = baseline[name] === undefined ? '-' : count(baseline[name])
    const { budget, target } = limits[name] ?? {}
    const wanted = [budget, target].map((bytes) => (bytes === undefined ? '' : count(bytes)))
    process.stdout.write(row(name, count(minified), count(brotli), recorded, ...wanted))
  }
}

function printParts(name: string, parts: Bundle['parts']): void {
  process.stdout.write(`\n${name}\n`)
  for (const [file, bytes] of parts) process.stdout.write(`${count(bytes).padStart(8)}  ${file}\n`)
}

function count(bytes: number): string {
  return bytes.toLocaleString('en-US')
}
