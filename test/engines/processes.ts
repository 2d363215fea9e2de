import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'

/** How long a program may take to say that it is ready, on a busy machine. */
const startMs = 60_000

export interface Program {
  /** What the pattern found in the program's output. */
  readonly said: string
  /** Asks it to end, and waits until it has. */
  stop(): Promise<void>
}

export interface Start {
  /** Its first group is what the program says when it is ready, on standard output, error or file 3. Default: it says nothing. */
  readonly ready?: RegExp
  readonly env?: NodeJS.ProcessEnv
}

/** Starts a program, in this process group, so that Ctrl-C reaches it too. */
export async function startProgram(
  command: string,
  args: readonly string[],
  { ready, env }: Start = {},
): Promise<Program> {
  const options: SpawnOptions = {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  }
  const child = spawn(command, args, options)
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
    const ended = once(child, 'exit')
    child.kill()
    await ended
  }
  try {
    if (ready === undefined) await once(child, 'spawn')
    return { said: ready ? await wordsOf(child, ready, command) : '', stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function wordsOf(child: ChildProcess, ready: RegExp, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const timer = setTimeout(() => reject(new Error(`${command} did not get ready: ${text}`)), startMs)
    const read = (chunk: unknown): void => {
      text += String(chunk)
      const [, found] = ready.exec(text) ?? []
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    }
    for (const stream of child.stdio.slice(1)) stream?.on('data', read)
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${command} ended with ${code}: ${text}`)))
  })
}
