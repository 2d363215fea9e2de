import { findOnPath } from '../test/support/on-path.ts'
import { adviceFor, isMissing, type Program, programs, skipsTests } from '../test/support/programs.ts'
import { installPackages } from './debian-packages.ts'
import { exitCodes, runCommand } from './flags.ts'

const help = `Usage: npm run programs [-- --install]

Prints where the programs are that the tests need and npm ci does not bring: a Chromium (chromium, chromium-browser,
google-chrome or google-chrome-stable), chromium-headless-shell, in which most browser tests run in a third of the time,
redis-server, and gnome-keyring-daemon. Says how to get what is missing. npm test and npm run test:e2e run this with --install
first, and skip the tests of a program that is still missing; if CI is set, they fail instead, unless that is
gnome-keyring-daemon.

  --install   installs what is missing with apt-get, as root on Debian and Ubuntu only
  -h, --help  this text

Exit codes: 0 the tests can run, 1 a program that they need is missing and CI is set, 2 the arguments are wrong.
`

await runCommand({ name: 'programs', help, options: { install: { type: 'boolean' } } }, ({ install }) => {
  if (install) installMissing()
  else for (const program of programs) process.stdout.write(`${placeOf(program)}\n`)
  const missing = programs.filter((program) => program.tag && isMissing(program) && !skipsTests(program))
  for (const program of missing) process.stderr.write(`programs: ${adviceFor(program)}\n`)
  return missing.length > 0 ? exitCodes.failed : exitCodes.ok
})

/** Without root or apt-get nothing is tried: the test run says what is missing. */
function installMissing(): void {
  if (process.getuid?.() !== 0 || findOnPath(['apt-get']) === undefined) return
  const packages = programs.filter(isMissing).map(({ debianPackage }) => debianPackage)
  if (packages.length === 0 || attempt(packages)) return
  // A release that lacks one of them, as Ubuntu lacks the headless shell, may have the others.
  for (const name of packages) attempt([name])
}

function attempt(packages: readonly string[]): boolean {
  try {
    installPackages(packages)
    return true
  } catch (error) {
    process.stderr.write(`programs: ${error instanceof Error ? error.message : String(error)}\n`)
    return false
  }
}

function placeOf(program: Program): string {
  return findOnPath(program.names) ?? adviceFor(program)
}
