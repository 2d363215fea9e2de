import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** `onTestFinished`, of the test itself where tests run side by side. */
export type AtEnd = (end: () => void | Promise<void>) => void

/** A process of its own that runs a TypeScript file of this folder; it ends with the test at the latest. */
export function startChild(atEnd: AtEnd, file: string, args: readonly string[]): ChildProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: ['--import', 'tsx'],
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
  })
  atEnd(() => {
    child.kill('SIGKILL')
  })
  return child
}

/** What the child says next. Rejects when it ends before. */
export async function nextWord(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`The child ended before it said anything: ${code ?? signal}.`)
  })
  const word = once(child, 'message').then(([said]) => said as unknown)
  ended.catch(() => {})
  return Promise.race([word, ended])
}
