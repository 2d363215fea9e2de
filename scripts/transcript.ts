import { readFileSync, writeFileSync } from 'node:fs'
import { exitCodes, runCommand } from './flags.ts'
import { recordTranscript, withTranscript } from './transcript-page.ts'

const help = `Usage: npm run transcript [-- --check]

Builds the agent-auth command, runs it against agent-service from login to logout, and writes to docs/command-line.md what a terminal
shows. Ports, ids and tokens are replaced by names, so that each run writes the same text.

  --check     write nothing, and say whether the page is up to date
  -h, --help  this text

Exit codes: 0 done or up to date, 1 the page is out of date or a command failed, 2 the arguments are wrong.
`

const pageFile = new URL('../docs/command-line.md', import.meta.url)

await runCommand({ name: 'transcript', help, options: { check: { type: 'boolean' } } }, async ({ check }) => {
  const page = readFileSync(pageFile, 'utf8')
  const current = withTranscript(page, await recordTranscript())
  if (!check) writeFileSync(pageFile, current)
  else if (page !== current) throw new Error('docs/command-line.md is out of date: run npm run transcript')
  return exitCodes.ok
})
