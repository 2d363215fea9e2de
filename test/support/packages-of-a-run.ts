import type { TestProject } from 'vitest/node'
import { installOwnPackages } from '../../scripts/own-packages.ts'

// Vitest's globalSetup: installs what the files of this run need and npm ci leaves out.

/** What it reads of the run. */
interface Run {
  readonly vitest: { readonly state: Pick<TestProject['vitest']['state'], 'getPaths'> }
}

export default async function installPackages({ vitest }: Run): Promise<void> {
  const has = (files: string): boolean => vitest.state.getPaths().some((path) => path.includes(files))
  await installOwnPackages('tests')
  if (has('/test/bench.')) await installOwnPackages('benches')
  if (has('/test/e2e/')) await installOwnPackages('next')
}
