import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { runNode } from './example.ts'

/** `next dev` in a copy of this folder, as deep below the same root: Next writes types and builds beside what it serves. Its packages are linked. */
export async function runNext(app: string, env: Record<string, string>): Promise<() => Promise<void>> {
  const copies = join(app, '../../dist')
  await mkdir(copies, { recursive: true })
  const folder = await mkdtemp(join(copies, 'next-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 5 })
  try {
    const left = ['.next', 'dist', 'node_modules']
    await cp(app, folder, { recursive: true, filter: (path) => !left.includes(basename(path)) })
    await symlink(join(app, 'node_modules'), join(folder, 'node_modules'))
    const next = join(folder, 'node_modules/next/dist/bin/next')
    // Its own process ends the server's.
    const stop = await runNode([next, 'dev', folder, '-H', '127.0.0.1'], bare(env), 'Ready in', 'SIGTERM')
    return async () => {
      await stop()
      await remove()
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Nothing of whoever runs the tests, whom Next looks at; as in CI it installs nothing that it misses. */
function bare(env: Record<string, string>): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, CI: 'true', NEXT_TELEMETRY_DISABLED: '1', ...env }
}
