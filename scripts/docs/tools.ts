import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { root, siteFolder } from './folders.ts'

/** Installs the packages of the site, unless the folder has those of the lock file. `npm ci` of the project leaves them out. */
export async function installTools(): Promise<void> {
  const installed = `${siteFolder}/node_modules/.package-lock.json`
  if (existsSync(installed) && packagesOf(installed) === packagesOf(`${siteFolder}/package-lock.json`)) return
  await run('npm', ['--prefix', siteFolder, 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], root)
}

/** Returns the versions of a lock file as text. Packages of other platforms are not installed and do not count. */
function packagesOf(lockFile: string): string {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8')) as {
    packages: Record<string, { version?: string; optional?: boolean }>
  }
  const entries = Object.entries(packages).filter(([path, { optional }]) => path !== '' && !optional)
  return entries
    .map(([path, { version }]) => `${path} ${version}`)
    .sort()
    .join('\n')
}

/** Runs a command of the packages of the site. Rejects with its output if it fails. */
export function runTool(name: string, args: readonly string[]): Promise<void> {
  return run(process.execPath, [`${siteFolder}/node_modules/.bin/${name}`, ...args], siteFolder)
}

/** Runs a command of the packages of the site until it ends or is stopped, with the terminal of this process. */
export async function showTool(name: string, args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [`${siteFolder}/node_modules/.bin/${name}`, ...args], {
    cwd: siteFolder,
    stdio: 'inherit',
  })
  // Ctrl-C reaches the tool too, which ends by itself.
  const wait = (): void => undefined
  process.on('SIGINT', wait)
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  process.off('SIGINT', wait)
  return code ?? 0
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, problem, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve)),
  ])
  if (code !== 0) throw new Error(`${args[0]?.split('/').at(-1)} ended with exit code ${code}:\n${problem}${out}`)
}
