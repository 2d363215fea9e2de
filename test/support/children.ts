import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

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

/** The same for a file bundled beforehand, which starts in a fifth of the time: for tests of many processes. */
export function startBundled(atEnd: AtEnd, file: string, args: readonly string[]): ChildProcess {
  const child = fork(file, args, { execArgv: [] })
  atEnd(() => {
    child.kill('SIGKILL')
  })
  return child
}

/** Bundles a file of this folder for `startBundled`. */
export async function bundled(atEnd: AtEnd, file: string): Promise<string> {
  const cache = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'agent-auth-'))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  const outfile = join(folder, file.replace(/\.ts$/, '.mjs'))
  await build({
    entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['ioredis', 'redis', 'pg', '@hono/node-server'],
    logLevel: 'warning',
  })
  return outfile
}

/** What the child says next. Rejects when it ends before. */
export async function nextWord(child: ChildProcess): Promise<unknown> {
  const heard = new AbortController()
  const { signal } = heard
  const ended = once(child, 'exit', { signal }).then(([code, signal]) => {
    throw new Error(`The child ended before it said anything: ${code ?? signal}.`)
  })
  const word = once(child, 'message', { signal }).then(([said]) => said as unknown)
  ended.catch(() => {})
  word.catch(() => {})
  return Promise.race([word, ended]).finally(() => heard.abort())
}
