import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { findChromium } from '../test/support/chromium.ts'

const help = `Usage: npm run chromium [-- --check]

Prints the path of the Chromium that the browser tests and the screenshots use: the first of chromium, chromium-browser,
google-chrome and google-chrome-stable on PATH. If there is none, it installs the package chromium with apt-get, as root
on Debian only.

  --check     install nothing
  -h, --help  this text

Exit codes: 0 there is one, 1 there is none and it could not be installed, 2 the arguments are wrong.
`

const exitCodes = { ok: 0, failed: 1, usage: 2 } as const

process.exitCode = main()

function main(): number {
  const mode = readMode()
  if (mode === undefined) return complain('unknown arguments; try npm run chromium -- --help', exitCodes.usage)
  if (mode === 'help') {
    process.stdout.write(help)
    return exitCodes.ok
  }
  const problem = findChromium() === undefined && mode === 'install' ? install() : undefined
  const found = findChromium()
  if (found === undefined) return complain(problem ?? 'there is no Chromium on PATH', exitCodes.failed)
  process.stdout.write(`${found}\n`)
  return exitCodes.ok
}

function readMode(): 'help' | 'check' | 'install' | undefined {
  try {
    const options = { check: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const
    const { values } = parseArgs({ options })
    if (values.help) return 'help'
    return values.check ? 'check' : 'install'
  } catch {
    return undefined
  }
}

/** Installs Debian's package; what is wrong comes back as text. */
function install(): string | undefined {
  if (process.getuid?.() !== 0) {
    return 'there is no Chromium on PATH, and only root may install it: apt-get install chromium'
  }
  process.stderr.write('chromium: none on PATH, installing the Debian package\n')
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', 'chromium']]) {
    const { status, error } = spawnSync('apt-get', args, {
      stdio: ['ignore', process.stderr.fd, 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (error !== undefined) return 'there is no apt-get here: install Chromium yourself and put it on PATH'
    if (status !== 0) return `apt-get ${args[0]} failed with exit code ${status}`
  }
  return undefined
}

function complain(problem: string, exitCode: number): number {
  process.stderr.write(`chromium: ${problem}\n`)
  return exitCode
}
