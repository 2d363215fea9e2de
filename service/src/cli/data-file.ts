import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { linkTarget } from '../store/engine/private-file.ts'

const header = 'SQLite format 3\0'

/**
 * Returns why this path cannot be a data file, or undefined. A new file needs an existing folder. Call it before the
 * database is opened, because closing a file releases every lock that this process has on it.
 */
export function refuseDataFile(dataFile: string): string | undefined {
  const named = (problem: string): string => `the data file ${JSON.stringify(dataFile)} ${problem}`
  const file = statSync(dataFile, { throwIfNoEntry: false })
  if (file === undefined) {
    const folder = dirname(resolve(linkTarget(dataFile)))
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      return named('cannot be created: its folder does not exist')
    return isAllowed(folder) ? undefined : named('cannot be created: its folder is not writable')
  }
  if (!file.isFile()) return named('is not a file; choose another path')
  if (!isAllowed(dataFile)) return named('cannot be read and written by this user')
  return file.size === 0 || beginning(dataFile) === header
    ? undefined
    : named('is not a SQLite database; choose another path')
}

function isAllowed(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

function beginning(file: string): string {
  const bytes = Buffer.alloc(header.length)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, bytes)
    return bytes.toString('latin1')
  } finally {
    closeSync(descriptor)
  }
}
