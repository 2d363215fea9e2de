import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import tsup from '../tsup.command.config.ts'

/** The agent-auth command as the package ships it. */
export interface BuiltCommand {
  readonly file: string
  remove(): Promise<void>
}

/** Builds the command into a folder of its own. */
export async function buildCommand(): Promise<BuiltCommand> {
  // Inside the project, so that the dependencies of what is built are found.
  const modules = fileURLToPath(new URL('../node_modules', import.meta.url))
  const folder = await mkdtemp(join(modules, '.command-'))
  await build({ ...tsup, outDir: folder, dts: false, clean: false, silent: true, config: false })
  return { file: join(folder, 'command.js'), remove: () => rm(folder, { recursive: true }) }
}
