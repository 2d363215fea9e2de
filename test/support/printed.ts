import type { ChildProcess } from 'node:child_process'

/** How long a program may take to say that it is ready, on a busy machine. */
const limitMs = 120_000
/** How long the last output of a process may take that has ended, because another process can keep its pipes open. */
const lastOutputMs = 1_000

/**
 * Waits until the output of a process, on any of its streams, matches. Returns the first group of the pattern, or all that it
 * matched. Rejects with the output if the process ends before, and kills a process that does not get ready.
 */
export function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const streams = child.stdio.slice(1)
    const settle = (): void => {
      clearTimeout(timer)
      child.off('exit', failSoon)
      for (const stream of streams) stream?.off('data', read)
    }
    const fail = (what: string): void => {
      settle()
      reject(new Error(`${child.spawnfile} ${what}. It printed:\n${text}`))
    }
    const read = (chunk: unknown): void => {
      text += String(chunk)
      const found = pattern.exec(text)
      if (!found) return
      settle()
      resolve(found[1] ?? found[0])
    }
    const failSoon = (): void => {
      clearTimeout(timer)
      timer = setTimeout(fail, lastOutputMs, `ended with ${child.exitCode ?? child.signalCode}`)
    }
    let timer = setTimeout(() => {
      child.kill('SIGKILL')
      fail('did not get ready')
    }, limitMs)
    for (const stream of streams) stream?.on('data', read)
    child.once('error', ({ message }) => fail(`did not start (${message})`))
    child.once('close', (code, signal) => fail(`ended with ${code ?? signal}`))
    if (child.exitCode !== null || child.signalCode !== null) failSoon()
    else child.once('exit', failSoon)
  })
}
