import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { cellsOf, type Figure, figureLine, isMet } from './figures.ts'

/** In the order they run. Each loads what it needs. */
const groups: Readonly<Record<string, () => Promise<Figure[]>>> = {
  size: async () => (await import('./size.ts')).sizes(),
  import: async () => (await import('./import.ts')).imports(),
  bearer: async () => (await import('./bearer.ts')).bearer(),
  storms: async () => (await import('./storms.ts')).storms(),
  tabs: async () => (await import('./tabs.ts')).tabs(),
  service: async () => (await import('./service.ts')).service(),
  search: async () => (await import('./service/search.ts')).search(),
}

const help = `Usage: npm run bench [-- GROUP ...]

Measures and prints figures beside those of peers, and replaces their rows in the table of docs/benchmarks.md. Without a group it
measures all, which takes about ten minutes on a machine without other work.

  ${Object.keys(groups).join(', ')}

Exit codes: 0 every target met, 1 one was missed, 2 no such group.
`

const page = new URL('../docs/benchmarks.md', import.meta.url)
const { positionals: asked, values } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean', short: 'h' } },
})
if (values.help || asked.some((name) => !Object.hasOwn(groups, name))) {
  process[values.help ? 'stdout' : 'stderr'].write(help)
  process.exit(values.help ? 0 : 2)
}

// Other work on the machine makes figures worse than they are.
const load = Math.round(loadavg()[0] ?? 0)

// What is measured is what people install.
execFileSync('npm', ['run', '--silent', 'build:js'], { cwd: new URL('..', import.meta.url), stdio: 'ignore' })
const figures: Figure[] = []
for (const [name, measure] of Object.entries(groups)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  process.stdout.write(`\n${name}\n`)
  const measured = await measure()
  for (const figure of measured) process.stdout.write(figureLine(figure))
  figures.push(...measured)
}
writePage()
process.exit(figures.every(isMet) ? 0 : 1)

/** Replaces the rows of these figures, and keeps those of other groups. */
function writePage(): void {
  const [text = '', table = ''] = readFileSync(page, 'utf8').split(/^(?=\| \| Ours)/m)
  const day = new Date().toISOString().slice(0, 10)
  const measured = figures.map((figure) => `| ${[...cellsOf(figure), `${day}, load ${load}`].join(' | ')} |`)
  const nameOf = (row: string): string => row.split(' | ')[0] ?? ''
  const rows = new Map([...table.split('\n').slice(2).filter(Boolean), ...measured].map((row) => [nameOf(row), row]))
  const machine = `${cpus().length} cores of ${cpus()[0]?.model.trim()}, Node ${process.versions.node}`
  const head = '| | Ours | Beside it | Target | | Measured |\n|---|---:|---|---|---|---|'
  writeFileSync(
    page,
    `${text.replace(/^Measured on .*$/m, `Measured on ${machine}.`)}${head}\n${[...rows.values()].join('\n')}\n`,
  )
}
