import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { printed } from '../support/printed.ts'

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
    return { said: ready ? await printed(child, ready) : '', stop }
  } catch (error) {
    await stop()
    throw error
  }
}
