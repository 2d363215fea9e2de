import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A server in a process of its own, which answers questions about itself. */
export interface ServerProcess {
  /** What it printed up to the line that said where it listens. */
  readonly said: string
  /** Processor time since its start, user and system, all threads. */
  cpuMs(): Promise<number>
  stop(): Promise<void>
}

const probe = new URL('probe.mjs', import.meta.url).href

/** Starts `node …args` and waits until its output holds an origin. */
export async function startServerProcess(args: readonly string[]): Promise<ServerProcess> {
  const child = spawn(process.execPath, ['--import', probe, ...args], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  const said = await firstOutput(child, /http:\/\/[\w.[\]:]+:\d+[\s\S]*\n/)
  return {
    said,
    async cpuMs() {
      const answer = once(child, 'message') as Promise<[number]>
      child.send('cpu')
      return (await answer)[0] / 1_000
    },
    async stop() {
      if (child.exitCode !== null) return
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    },
  }
}

function firstOutput(child: ChildProcess, wanted: RegExp): Promise<string> {
  let said = ''
  let complaints = ''
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) =>
      reject(new Error(`the server ended with ${code} before it listened. It said: ${said}${complaints}`)),
    )
    child.stderr?.on('data', (chunk: Buffer) => {
      complaints += chunk.toString()
    })
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      if (wanted.test(said)) resolve(said)
    })
  })
}
