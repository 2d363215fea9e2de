import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** All these files are there, and none is older than what they are made from; folders count with all that is in them. */
export function isNewer(files: readonly string[], from: readonly string[]): boolean {
  const made = files.map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  return Math.min(...made) > Math.max(...from.map(newestMs))
}

function newestMs(path: string): number {
  const found = statSync(path)
  const inside = found.isDirectory() ? readdirSync(path).map((name) => newestMs(join(path, name))) : []
  return Math.max(found.mtimeMs, ...inside)
}
