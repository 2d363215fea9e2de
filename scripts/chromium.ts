import { spawnSync } from 'node:child_process'
import { findChromium } from '../test/support/chromium.ts'
import { exitCodes, runCommand } from './flags.ts'

const help = `Usage: npm run chromium [-- --check]

Prints the path of the Chromium that the browser tests and the screenshots use: the first of chromium, chromium-browser,
google-chrome and google-chrome-stable on PATH. If there is none, it installs the package chromium with apt-get, as root
on Debian only.

  --check     install nothing
  -h, --help  this text

Exit codes: 0 there is one, 1 there is none and it could not be installed, 2 the arguments are wrong.
`

await runCommand({ name: 'chromium', help, options: { check: { type: 'boolean' } } }, ({ check }) => {
  if (findChromium() === undefined && !check) install()
  const found = findChromium()
  if (found === undefined) throw new Error('there is no Chromium on PATH')
  process.stdout.write(`${found}\n`)
  return exitCodes.ok
})

/** Installs Debian's package. */
function install(): void {
  if (process.getuid?.() !== 0) {
    throw new Error('there is no Chromium on PATH, and only root may install it: apt-get install chromium')
  }
  process.stderr.write('chromium: none on PATH, installing the Debian package\n')
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', 'chromium']]) {
    const { status, error } = spawnSync('apt-get', args, {
      stdio: ['ignore', process.stderr.fd, 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (error !== undefined) throw new Error('there is no apt-get here: install Chromium and put it on PATH')
    if (status !== 0) throw new Error(`apt-get ${args[0]} failed with exit code ${status}`)
  }
}
