import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { scripts: Record<string, string> }

/** The scripts of package.json. */
export const scripts: Readonly<Record<string, string>> = manifest.scripts

/** How a script ended. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** In the environment of these tests may stand what is meant for others. */
const noStores = { REDIS_URL: '', DATABASE_URL: '' }

/** Runs a script in a process of its own. */
export function spawned(script: string, ...more: string[]): Promise<Ended> {
  const args = ['--import', ...script.split(' '), ...more]
  return new Promise((resolve) => {
    const env = { ...process.env, ...noStores }
    execFile(process.execPath, args, { cwd: root, env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
    })
  })
}

/** Runs a script in this process. */
export function run(script: string, ...more: string[]): Promise<Ended> {
  return runWith({}, script, ...more)
}

let runs = 0

/** Runs a script in this process, as its module sees it: arguments, environment, streams and exit code are its own. */
export async function runWith(
  changes: Readonly<Record<string, string>>,
  script: string,
  ...more: string[]
): Promise<Ended> {
  const [, file = '', ...args] = script.split(' ')
  const { argv, exitCode } = process
  const said = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      said[name] += chunk
      return true
    }),
  )
  for (const [name, value] of Object.entries({ ...noStores, ...changes })) vi.stubEnv(name, value)
  process.argv = [process.execPath, file, ...args, ...more]
  process.exitCode = undefined
  try {
    // Another query is another module, which runs again.
    await import(/* @vite-ignore */ `${root}${file}?${++runs}`)
    return { code: Number(process.exitCode ?? 0), ...said }
  } finally {
    Object.assign(process, { argv, exitCode })
    vi.unstubAllEnvs()
    for (const spy of spies) spy.mockRestore()
  }
}
