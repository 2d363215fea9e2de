import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Sources as a package has them: what runs TypeScript for these benches adds a call to each function that is made. */
export async function asShipped<T>(file: string): Promise<T> {
  const { outputFiles } = await build({
    entryPoints: [file],
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
    legalComments: 'none',
  })
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  return (await import(`data:text/javascript;base64,${code}`)) as T
}
