import { findOnPath } from '../test/support/on-path.ts'
import { adviceFor, isMissing, programs, skipsTests } from '../test/support/programs.ts'
import { installPackages } from './debian-packages.ts'

// Installs the programs that tests need and npm ci does not bring, as root on Debian and Ubuntu. The tests of a program that is still
// missing are skipped. If CI is set, they fail, unless that is gnome-keyring-daemon.

const missing = programs.filter(isMissing)
if (missing.length > 0 && process.getuid?.() === 0 && findOnPath(['apt-get']) !== undefined) {
  // A release that lacks one of them, as Ubuntu lacks the headless shell, may have the others.
  if (!tryInstall(missing.map(({ debianPackage }) => debianPackage)))
    for (const { debianPackage } of missing) tryInstall([debianPackage])
}
for (const program of programs.filter((one) => one.tag && isMissing(one) && !skipsTests(one))) {
  process.stderr.write(`${adviceFor(program)}\n`)
  process.exitCode = 1
}

function tryInstall(packages: readonly string[]): boolean {
  try {
    installPackages(packages)
    return true
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return false
  }
}
