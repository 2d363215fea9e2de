import { chmodSync, closeSync, lstatSync, openSync, readlinkSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { storeLimits } from '../../limits.ts'

const ownerOnly = 0o600
const othersBits = 0o077

/** Follows symbolic links to the file that a path names, also if that file does not exist yet (`symbolicLinks`, 40). */
export function linkTarget(path: string): string {
  let file = path
  for (let links = 0; links < storeLimits.symbolicLinks; links += 1) {
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) break
    file = resolve(dirname(file), readlinkSync(file))
  }
  return file
}

/**
 * Creates the database file for its owner only, or removes the permissions of group and others from an existing one,
 * because it holds the signing key. An existing file is not opened, because closing it would release the locks that
 * another database of this process has on it.
 */
export function makePrivate(dataFile: string): void {
  const file = linkTarget(dataFile)
  try {
    closeSync(openSync(file, 'ax', ownerOnly))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  // SQLite keeps its log and the log's index in files beside it.
  for (const one of [file, `${file}-wal`, `${file}-shm`]) {
    const mode = statSync(one, { throwIfNoEntry: false })?.mode ?? 0
    if ((mode & othersBits) !== 0) chmodSync(one, mode & ~othersBits)
  }
}
