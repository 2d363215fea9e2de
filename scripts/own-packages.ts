import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Folders that have a package.json and a lock file of their own, for what only some commands need. `npm ci` leaves them out. */
export const ownPackages = {
  benches: 'bench',
  next: 'examples/node-backend/adapters/next',
  packageChecks: 'scripts/package-checks',
  site: 'site',
  stryker: 'scripts/mutate/stryker',
  tests: 'test',
} as const

export type PackageSet = keyof typeof ownPackages

/** Installs the packages of one folder, unless it has those of its lock file. npm shows its progress on the error output. */
export async function installOwnPackages(name: PackageSet): Promise<void> {
  const folder = root + ownPackages[name]
  if (hasItsPackages(folder)) return
  process.stderr.write(`installing the packages of ${ownPackages[name]}, which npm ci leaves out\n`)
  // A silent command hands its level of the log on, which hides the progress.
  const child = spawn('npm', ['--prefix', folder, 'ci', '--loglevel=notice'], {
    cwd: root,
    stdio: ['ignore', process.stderr, process.stderr],
  })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve))
  if (code !== 0) throw new Error(`npm ci of ${ownPackages[name]} ended with exit code ${code}. Its output says why.`)
}

/** Returns whether npm has installed the versions of the folder's lock file. */
export function hasItsPackages(folder: string): boolean {
  const installed = `${folder}/node_modules/.package-lock.json`
  return existsSync(installed) && versionsIn(installed) === versionsIn(`${folder}/package-lock.json`)
}

/** Returns the versions of a lock file as text. Packages of other platforms are not installed and do not count. */
function versionsIn(lockFile: string): string {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8')) as {
    packages: Record<string, { version?: string; optional?: boolean }>
  }
  const entries = Object.entries(packages).filter(([path, { optional }]) => path !== '' && !optional)
  return entries
    .map(([path, { version }]) => `${path} ${version}`)
    .sort()
    .join('\n')
}
