import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import Database from 'libsql'
import { storeLimits } from '../../limits.ts'

/**
 * Copies a data file to a new file for its owner only. The copy has the state of one moment, also while a service writes, whose
 * lock it waits for (`busyMs`, 2 s). Throws EEXIST if there is a file already. A copy that fails leaves no file.
 */
export function copyDataFile(dataFile: string, copy: string): void {
  // `vacuum into` accepts an empty file. If there were no file, SQLite would create one that other users can read.
  const descriptor = openSync(copy, 'wx', 0o600)
  try {
    copyInto(dataFile, copy)
    fsyncSync(descriptor)
  } catch (error) {
    rmSync(copy, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
}

function copyInto(dataFile: string, copy: string): void {
  // SQLite takes a relative path such as `:memory:` or `file:…` for something else than a file of that name.
  const database = new Database(resolve(dataFile))
  try {
    database.pragma(`busy_timeout = ${storeLimits.busyMs}`)
    database.prepare('vacuum into ?').run([resolve(copy)])
  } finally {
    database.close()
  }
}
