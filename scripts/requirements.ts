import { readFileSync, writeFileSync } from 'node:fs'
import { exitCodes, runCommand } from './flags.ts'
import { requirementsPage } from './requirements-page.ts'

const help = `Usage: npm run requirements [-- --check]

Writes docs/requirements.md, what the ids in test titles mean, from test/rows.json and test/rows-beyond.json.

  --check     write nothing, and say whether the page is up to date
  -h, --help  this text

Exit codes: 0 done or up to date, 1 the page is out of date, 2 the arguments are wrong.
`

const pageFile = new URL('../docs/requirements.md', import.meta.url)

await runCommand({ name: 'requirements', help, options: { check: { type: 'boolean' } } }, ({ check }) => {
  const page = requirementsPage()
  if (!check) writeFileSync(pageFile, page)
  else if (readFileSync(pageFile, 'utf8') !== page) throw new Error('docs/requirements.md is out of date')
  return exitCodes.ok
})
