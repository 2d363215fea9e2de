import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runCommand } from './flags.ts'

const help = `Usage: npm run trace [-- --rows]

Says which rows of the requirements the test titles name (C-034, F048, S-012, P-13, D-25, I-5 …) and which of the rows that must have
a test no title names: those of test/rows.json, C-rows of the client and S-rows of the service.

  --rows   also the titles of each row
  --help   this text

Exit codes: 0 every row of the two lists has a test, 1 some have none, 2 the arguments are wrong.
`

const root = fileURLToPath(new URL('../', import.meta.url))
/** Whose rows test/rows.json lists, by the beginning of their ids. */
const owners = { 'C-': 'client', 'S-': 'service' }

await runCommand({ name: 'trace', help, options: { rows: { type: 'boolean' } } }, main)

async function main(flags: { rows?: boolean }): Promise<number> {
  const rows = Object.entries(JSON.parse(readFileSync(`${root}test/rows.json`, 'utf8')) as Record<string, string>)
  const named = await titlesByRow()
  const lists = Object.entries(owners).map(([prefix, owner]) => {
    return { owner, rows: rows.filter(([row]) => row.startsWith(prefix)) }
  })
  const beyond = [...named.keys()].filter((row) => !rows.some(([id]) => id === row)).sort()
  const missing = rows.filter(([row]) => !named.has(row))

  const lines = [
    ...(flags.rows ? [...named.keys()].sort().flatMap((row) => [row, ...indented(named.get(row) ?? [])]) : []),
    ...lists.map(({ owner, rows }) => {
      return `${owner} rows with a test: ${rows.filter(([row]) => named.has(row)).length} of ${rows.length}`
    }),
    `other rows with a test: ${beyond.length === 0 ? 'none' : beyond.join(' ')}`,
    ...(missing.length === 0 ? [] : ['rows without a test:']),
    ...indented(missing.map(([row, sentence]) => `${row}  ${sentence}`)),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return missing.length > 0 ? 1 : 0
}

/** A `describe` names a theme: its tests name their rows themselves. */
async function titlesByRow(): Promise<Map<string, string[]>> {
  // It loads the compiler, of which the help has no need.
  const { testTitles } = await import('../test/support/titles.ts')
  const rows = new Map<string, string[]>()
  for (const { title, ids, file, isTest } of testTitles()) {
    if (!isTest || !/\.test\.tsx?$/.test(file)) continue
    for (const row of ids.filter((id) => !id.startsWith('A-'))) rows.set(row, [...(rows.get(row) ?? []), title])
  }
  return rows
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}
