import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build as bundle } from 'esbuild'
import { build } from 'tsup'
import options from '../../tsup.config.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Builds the package as it is published, and a file of this folder against it; returns the one script. */
export async function buildScript(file: string, alias: Record<string, string> = {}): Promise<string> {
  // Inside the project, so that the dependencies of what is built are found.
  const folder = await mkdtemp(join(root, 'node_modules', '.browser-test-'))
  try {
    await build({ ...options, outDir: folder, dts: false, clean: false, silent: true, config: false })
    const { outputFiles } = await bundle({
      entryPoints: [join(root, 'test/browser', file)],
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      alias: {
        ...alias,
        'agent-auth/browser': join(folder, 'browser.js'),
        'agent-auth/react': join(folder, 'react.js'),
      },
      logLevel: 'silent',
    })
    return outputFiles[0]?.text ?? ''
  } finally {
    await rm(folder, { recursive: true })
  }
}
