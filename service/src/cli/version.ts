import { createRequire } from 'node:module'

/** Returns the version of the package, by its own name, because the sources and the built file are at different depths. */
export function packageVersion(): string {
  const { version }: { version: string } = createRequire(import.meta.url)('agent-service/package.json')
  return version
}
