import { chmodSync, closeSync, lstatSync, openSync, readlinkSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const mostLinks = 40
const ownerOnly = 0o600
const othersBits = 0o077

/** The file that a path leads to, also where a symbolic link names a file that is not there yet. */
export function linkTarget(path: string): string {
  let file = path
  for (let links = 0; links < mostLinks; links += 1) {
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) break
    file = resolve(dirname(file), readlinkSync(file))
  }
  return file
}

/**
 * Makes the database file, or takes the permissions of group and others from the one that is there: it holds the
 * signing key. A file that is there is not opened, because closing it would give up the locks of another database on it
 * in this process.
 */
export function makePrivate(dataFile: string): void {
  const file = linkTarget(dataFile)
  try {
    closeSync(openSync(file, 'ax', ownerOnly))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  // SQLite's log and index lie beside it.
  for (const one of [file, `${file}-wal`, `${file}-shm`]) {
    const mode = statSync(one, { throwIfNoEntry: false })?.mode ?? 0
    if ((mode & othersBits) !== 0) chmodSync(one, mode & ~othersBits)
  }
}
