import type { TestProject } from 'vitest/node'
import { installOwnPackages, type PackageSet } from '../../scripts/own-packages.ts'

// Vitest's globalSetup: installs what the files of this run need and npm ci leaves out.

/** What it reads of the run. */
interface Run {
  readonly vitest: { readonly state: Pick<TestProject['vitest']['state'], 'getPaths'> }
}

/** Returns the sets of packages that test files need. */
export function packagesFor(testFiles: readonly string[]): PackageSet[] {
  const has = (part: string): boolean => testFiles.some((path) => path.includes(part))
  return [
    'tests',
    ...(has('/test/bench.') ? ['benches' as const] : []),
    ...(has('/test/e2e/') ? ['next' as const] : []),
  ]
}

export default async function installPackages({ vitest }: Run): Promise<void> {
  for (const set of packagesFor(vitest.state.getPaths())) await installOwnPackages(set)
}
