import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withFolderLock } from './folder-lock.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Folders that have a package.json and a lock file of their own, for what only some commands need. `npm ci` leaves them out. */
export const ownPackages = {
  benches: 'bench',
  next: 'examples/node-backend/adapters/next',
  packageChecks: 'scripts/package-checks',
  site: 'site',
  tests: 'test',
} as const

export type PackageSet = keyof typeof ownPackages

/** Installs the packages of one folder, unless it has those of its lock file. npm shows its progress on the error output. */
export function installOwnPackages(name: PackageSet): Promise<void> {
  return installIn(root + ownPackages[name])
}

/** Does the same for a path. Commands that need the same folder at once install one after the other. */
export async function installIn(folder: string): Promise<void> {
  if (hasItsPackages(folder)) return
  const name = relative(root, folder)
  await withFolderLock(folder, {
    onWait: () => process.stderr.write(`waiting for another command, which installs the packages of ${name}\n`),
    async work() {
      if (hasItsPackages(folder)) return
      process.stderr.write(`installing the packages of ${name}, which npm ci leaves out\n`)
      await runNpmCi(folder, name)
    },
  })
}

async function runNpmCi(folder: string, name: string): Promise<void> {
  // A silent command hands its level of the log on, which hides the progress.
  const child = spawn('npm', ['--prefix', folder, 'ci', '--loglevel=notice'], {
    cwd: root,
    stdio: ['ignore', process.stderr, process.stderr],
  })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve))
  if (code !== 0) throw new Error(`npm ci of ${name} ended with exit code ${code}. Its output says why.`)
}

/** Returns whether npm has installed the versions of the folder's lock file. */
export function hasItsPackages(folder: string): boolean {
  const installed = installedIn(folder)
  if (!installed) return false
  const locked = packagesIn(`${folder}/package-lock.json`)
  const isInstalled = ([path, { version }]: [string, Locked]): boolean => installed[path]?.version === version
  const isLocked = ([path, { version }]: [string, Locked]): boolean => locked[path]?.version === version
  const isNeeded = ([path, entry]: [string, Locked]): boolean =>
    path !== '' && (!entry.optional || isForThisPlatform(entry))
  return Object.entries(locked).filter(isNeeded).every(isInstalled) && Object.entries(installed).every(isLocked)
}

interface Locked {
  readonly version?: string
  readonly optional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly engines?: { readonly node?: string }
}

function packagesIn(lockFile: string): Record<string, Locked> {
  return (JSON.parse(readFileSync(lockFile, 'utf8')) as { packages: Record<string, Locked> }).packages
}

/** Returns what npm says that it installed: nothing if that was interrupted. */
function installedIn(folder: string): Record<string, Locked> | undefined {
  try {
    return packagesIn(`${folder}/node_modules/.package-lock.json`)
  } catch {
    return undefined
  }
}

/**
 * Returns whether npm installs an optional package here. One that names no platform may belong to one that npm leaves out, and one
 * whose range of Node versions is more than a lower bound may be for another Node: both do not count.
 */
function isForThisPlatform({ os, cpu, libc, engines }: Locked): boolean {
  const least = /^>= ?([\d.]+)$/.exec(engines?.node ?? '>=0')?.[1]
  if (!(os ?? cpu) || least === undefined) return false
  const isNewEnough = process.versions.node.localeCompare(least, 'en', { numeric: true }) >= 0
  return isNewEnough && allows(os, process.platform) && allows(cpu, process.arch) && (!libc || allows(libc, libcHere()))
}

/** npm's lists name what is allowed or, after `!`, what is not. */
function allows(list: readonly string[] | undefined, name: string): boolean {
  if (!list || list.includes('any')) return true
  return list.includes(name) || (!list.includes(`!${name}`) && list.every((listed) => listed.startsWith('!')))
}

function libcHere(): 'glibc' | 'musl' {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
}
