import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** More than the slowest install on a loaded machine takes. */
const limitMs = 600_000

/** Runs a program to its end. Rejects with what it printed if it fails. */
export async function run(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<{ readonly stdout: string }> {
  const options = { cwd, env: { ...own(), ...env }, timeout: limitMs, maxBuffer: 64 * 2 ** 20 }
  try {
    return await execute(program, [...args], options)
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`.slice(-6_000))
  }
}

/** What a project of a user has: npm's variables of this project would reach into the commands of that one. */
function own(): NodeJS.ProcessEnv {
  const foreign = /^(npm_(?!config_(registry|cafile|userconfig|globalconfig|cache)$)|NODE_OPTIONS$|VITEST|NODE_ENV$)/i
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))
}
