import { findChromium, findHeadlessShell, headlessShellName } from '../test/support/chromium.ts'
import { installPackages } from './debian-packages.ts'
import { exitCodes, runCommand } from './flags.ts'

const help = `Usage: npm run chromium [-- --check]

Prints the paths of the Chromium that the browser tests and the screenshots use: the first of chromium, chromium-browser,
google-chrome and google-chrome-stable on PATH, and chromium-headless-shell, in which most of the tests run in a third of
the time. What is missing it installs with apt-get, as root on Debian only. Without the second the tests use the first.

  --check     install nothing
  -h, --help  this text

Exit codes: 0 there is a Chromium, 1 there is none and it could not be installed, 2 the arguments are wrong.
`

await runCommand({ name: 'chromium', help, options: { check: { type: 'boolean' } } }, ({ check }) => {
  if (!check) installMissing()
  const found = findChromium()
  if (found === undefined) throw new Error('there is no Chromium on PATH')
  process.stdout.write(`${found}\n`)
  const shell = findHeadlessShell()
  process.stdout.write(shell === undefined ? `no ${headlessShellName}: the tests take longer\n` : `${shell}\n`)
  return exitCodes.ok
})

function installMissing(): void {
  if (findChromium() === undefined) installPackages(['chromium'])
  if (findHeadlessShell() !== undefined) return
  try {
    installPackages([headlessShellName])
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  }
}
