import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.ts'

/** The two packages as they would be published. */
export interface Tarballs {
  readonly agentAuth: string
  readonly agentService: string
}

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Packs both packages into this folder. */
export async function pack(folder: string, dist: 'as-built' | 'build'): Promise<Tarballs> {
  const packed = async (args: string[]): Promise<string> => {
    const scripts = dist === 'build' ? [] : ['--ignore-scripts']
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder, ...scripts, ...args], {
      cwd: root,
    })
    const [{ filename }] = JSON.parse(stdout.slice(stdout.lastIndexOf('\n[') + 1)) as [{ filename: string }]
    return join(folder, filename)
  }
  return { agentAuth: await packed([]), agentService: await packed(['--workspace', 'agent-service']) }
}
