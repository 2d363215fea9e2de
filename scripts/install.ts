import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Folders with a lock file of their own. `npm ci` of the repository leaves them out, because they are larger than all the rest. */
const folders = {
  next: 'examples/node-backend/adapters/next',
  frameworks: 'examples/frameworks',
  site: 'site',
} as const

/** Installs the packages of one of these folders, unless those of its lock file are there. */
export async function installPackages(name: keyof typeof folders): Promise<void> {
  const folder = root + folders[name]
  const installed = `${folder}/node_modules/.package-lock.json`
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${folder}/package-lock.json`).mtimeMs) return
  process.stderr.write(`installing the packages of ${folders[name]}\n`)
  const npm = spawn('npm', ['--prefix', folder, 'ci'], { stdio: ['ignore', process.stderr.fd, 'inherit'] })
  const [code] = (await once(npm, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`npm ci of ${folders[name]} ended with exit code ${code}`)
}
