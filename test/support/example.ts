import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.ts'
import { printed } from './printed.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { scripts: Record<string, string> }

export interface RunningExample {
  readonly origin: string
  readonly email: string
  readonly password: string
  /** The password of another account. */
  passwordOf(email: string): string
  /** As Ctrl-C does it, to every process of the group; resolves to the exit code. */
  stop(): Promise<number | null>
}

/** Runs what `npm run example:NAME` runs, without npm, whose own exit code hides the command's; reads from its output where it is and how to sign in. */
export async function runExample(
  name: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<RunningExample> {
  const port = await freePort()
  const script = scripts[`example:${name}`]?.split(' ') ?? []
  const command = ['--import', ...script, '--port', String(port), ...args]
  const child = start(process.execPath, command, { detached: true, env: { ...process.env, ...env } })
  const output = await printed(child, /[\s\S]*Stop with Ctrl-C/)
  const [, email = '', password = ''] = /^ {2}(ada@\S+)\s+(\S+)/m.exec(output) ?? []
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return {
    origin: `http://127.0.0.1:${port}`,
    email,
    password,
    passwordOf: (name) => new RegExp(`^ {2}${name}\\s+(\\S+)`, 'm').exec(output)?.[1] ?? '',
    stop() {
      process.kill(-(child.pid ?? 0), 'SIGINT')
      return ended
    },
  }
}

/** A TypeScript file of the project in a process of its own, once it has printed this; ends with its `stop`. */
export function runFile(file: string, env: NodeJS.ProcessEnv, ready: string): Promise<() => Promise<void>> {
  return runNode(['--import', 'tsx', file], { ...process.env, ...env }, ready, 'SIGKILL')
}

/** Node in this folder, with these arguments and no environment but this, once it has printed that; its `stop` sends the signal. */
export async function runNode(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  ready: string,
  signal: NodeJS.Signals,
  cwd: string = root,
): Promise<() => Promise<void>> {
  const child = start(process.execPath, args, { env, cwd })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await printed(child, new RegExp(ready))
  return () => {
    child.kill(signal)
    return ended
  }
}

function start(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  return spawn(command, args, { cwd: root, ...options })
}
