import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { siteFolder } from './folders.ts'

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
