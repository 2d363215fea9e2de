import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fieldRows, fieldTitles, filesOf, isFieldRow, notOurs } from '../test/support/field-rows.ts'
import { asTitle, testTitles } from '../test/support/titles.ts'
import { exitCodes, runCommand } from './flags.ts'

const help = `Usage: npm run test:field [-- --row F048]

Runs the tests of the failures of the field: ways in which other clients have failed their users. docs/requirements.md explains
each. A failure is survived if its tests pass and at least one of them ran.

  --row ID    the tests of this failure only
  -h, --help  this text

Exit codes: 0 all are survived, 1 some are not, 2 the arguments are wrong.
`

const root = fileURLToPath(new URL('../', import.meta.url))
const options = { row: { type: 'string' } } as const

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[]
  }[]
}

await runCommand({ name: 'test:field', help, options }, async ({ row }) => {
  if (row !== undefined && !fieldRows().includes(row)) {
    process.stderr.write(`test:field: ${row} is ${notOurs()[row]?.reason ?? 'no failure of docs/requirements.md'}\n`)
    return exitCodes.usage
  }
  const rows = row === undefined ? fieldRows() : [row]
  const outcomes = outcomesByRow(await run(rows))
  const lost = rows.filter((id) => !isSurvived(outcomes.get(id)))
  for (const id of lost) process.stdout.write(`${id}: ${outcomes.has(id) ? 'a test failed' : 'no test ran'}\n`)
  process.stdout.write(`${rows.length - lost.length} of ${rows.length} field failures survived\n`)
  return lost.length > 0 ? exitCodes.failed : exitCodes.ok
})

/** Runs the tests of these rows, each on one database only, and returns the report of the test runner. */
async function run(rows: readonly string[]): Promise<Report> {
  const all = testTitles()
  const titles = fieldTitles(all).filter(({ ids }) => ids.some((id) => rows.includes(id)))
  const folder = mkdtempSync(join(tmpdir(), 'agent-auth-field-'))
  const report = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const named = `\\[[^\\]]*\\b(?:${rows.join('|')})\\b[^\\]]*\\]$`
  const args = ['run', '--project=!postgres', '--testNamePattern', named, ...reporters, ...filesOf(titles, all)]
  try {
    await once(
      spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...args], { cwd: root, stdio: 'inherit' }),
      'exit',
    )
    return JSON.parse(readFileSync(report, 'utf8'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The statuses of the tests of each row that ran. */
function outcomesByRow({ testResults }: Report): Map<string, string[]> {
  const outcomes = new Map<string, string[]>()
  for (const { title, status } of testResults.flatMap(({ assertionResults }) => assertionResults)) {
    if (status !== 'passed' && status !== 'failed') continue
    for (const id of asTitle('', title).ids.filter(isFieldRow)) outcomes.set(id, [...(outcomes.get(id) ?? []), status])
  }
  return outcomes
}

function isSurvived(statuses: readonly string[] | undefined): boolean {
  return statuses?.every((status) => status === 'passed') ?? false
}
