import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { bundleForNode } from './bundle.ts'
import { patientLimits } from './patient-limits.ts'

/** `onTestFinished`, of the test itself where tests run side by side. */
export type AtEnd = (end: () => void | Promise<void>) => void

/** A process of its own that runs a file of this folder, bundled beforehand; it ends with the test at the latest. */
export async function startChild(atEnd: AtEnd, file: string, args: readonly string[]): Promise<ChildProcess> {
  const [child] = await startChildren(atEnd, file, args, 1)
  return child as ChildProcess
}

/** Several of them. Bundled once, each starts in a third of the time. */
export async function startChildren(
  atEnd: AtEnd,
  file: string,
  args: readonly string[],
  count: number,
): Promise<ChildProcess[]> {
  const program = await bundled(atEnd, file)
  return Array.from({ length: count }, () => {
    const child = fork(program, args, { execArgv: [] })
    atEnd(() => {
      child.kill('SIGKILL')
    })
    return child
  })
}

/**
 * Bundles a file of this folder, for processes that run it. Returns the path of the bundle. With `limits: 'patient'`, the default, no
 * operation of a storage is given up because the machine is slow.
 */
export async function bundled(
  atEnd: AtEnd,
  file: string,
  { limits = 'patient' }: { limits?: 'patient' | 'published' } = {},
): Promise<string> {
  const { file: bundle, remove } = await bundleForNode({
    entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
    external: ['ioredis', 'redis', 'pg', '@hono/node-server'],
    plugins: limits === 'patient' ? [patientLimits] : [],
  })
  atEnd(remove)
  return bundle
}

/** What the child says next. Rejects when it ends before. */
export async function nextWord(child: ChildProcess): Promise<unknown> {
  const heard = new AbortController()
  const { signal } = heard
  // `exit` can come before the last message.
  const ended = once(child, 'close', { signal }).then(([code, signal]) => {
    throw new Error(`The child ended before it said anything: ${code ?? signal}.`)
  })
  const word = once(child, 'message', { signal }).then(([said]) => said as unknown)
  ended.catch(() => {})
  word.catch(() => {})
  return Promise.race([word, ended]).finally(() => heard.abort())
}
