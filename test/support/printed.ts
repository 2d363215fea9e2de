import type { ChildProcess } from 'node:child_process'

/** How long a program may take to say that it is ready, on a busy machine. */
const limitMs = 120_000

/**
 * Waits until the output of a process, on any of its streams, matches. Returns the first group of the pattern, or all that it
 * matched. Rejects with the output if the process ends before.
 */
export function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const fail = (what: string): void => reject(new Error(`${child.spawnfile} ${what}. It printed:\n${text}`))
    const timer = setTimeout(fail, limitMs, 'did not get ready')
    const read = (chunk: unknown): void => {
      text += String(chunk)
      const found = pattern.exec(text)
      if (!found) return
      clearTimeout(timer)
      resolve(found[1] ?? found[0])
    }
    for (const stream of child.stdio.slice(1)) stream?.on('data', read)
    child.once('error', ({ message }) => fail(`did not start (${message})`))
    // `exit` can come before the last output.
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      fail(`ended with ${code ?? signal}`)
    })
  })
}
