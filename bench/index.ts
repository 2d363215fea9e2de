import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
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

Measures and prints figures beside those of peers. Without a group it measures all, which takes about a quarter of an hour on a
machine without other work, and writes the table of docs/benchmarks.md.

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
if (asked.length === 0) writePage()
process.exit(figures.every(isMet) ? 0 : 1)

/** Replaces what stands below the line that says where the figures come from. */
function writePage(): void {
  const [text = ''] = readFileSync(page, 'utf8').split(/^Measured on /m)
  const day = new Date().toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })
  const machine = `${cpus().length} cores of ${cpus()[0]?.model.trim()}, Node ${process.versions.node}`
  const rows = figures.map((figure) => `| ${cellsOf(figure).join(' | ')} |`)
  const head = '| | Ours | Beside it | Target | |\n|---|---:|---|---|---|'
  writeFileSync(page, `${text}Measured on ${day}, ${machine}.\n\n${head}\n${rows.join('\n')}\n`)
}
