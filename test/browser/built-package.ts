import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import options from '../../tsup.config.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Builds the package as it is published into a folder of its own. */
export async function buildPackage(): Promise<{ folder: string; remove(): Promise<void> }> {
  // Inside the project, so that the dependencies of what is built are found.
  const folder = await mkdtemp(join(root, 'node_modules', '.browser-test-'))
  await build({ ...options, outDir: folder, dts: false, clean: false, silent: true, config: false })
  return { folder, remove: () => rm(folder, { recursive: true }) }
}
