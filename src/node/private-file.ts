import { closeSync, constants, fstatSync, mkdirSync, openSync, readFileSync, type Stats, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { AgentAuthError } from '../errors.ts'
import { networkCode } from '../storage/shared/network-code.ts'

/** Returns the text of a file that only this user can read, or undefined if there is none. Throws `storage_failed`. */
export function readPrivateFile(path: string): string | undefined {
  const fd = openToRead(path)
  if (fd === undefined) return undefined
  try {
    const status = fstatSync(fd)
    if (!status.isFile()) refuse(path, 'is no regular file. Choose another path')
    // Windows has neither user ids nor modes.
    if (process.geteuid && status.uid !== process.geteuid())
      refuse(path, 'belongs to another user. Choose another path')
    if (isOpenToOthers(status))
      refuse(path, 'was readable by other users. Run chmod 600 on it, and sign in again, because they may have read it')
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** Returns whether users beside the owner can read or change a file. Windows has no modes, so it is false there. */
export function isOpenToOthers({ mode }: Stats): boolean {
  return process.geteuid !== undefined && (mode & 0o077) !== 0
}

/** Creates a folder for this user only. Throws `storage_failed` if other users can replace files of an existing one. */
export function preparePrivateFolder(folder: string): void {
  createFolder(folder)
  if (!process.geteuid) return
  const { uid, mode } = statSync(folder)
  const isSticky = (mode & 0o1000) !== 0
  if ((mode & 0o022 && !isSticky) || ![0, process.geteuid()].includes(uid))
    throw failed(
      `The folder ${basename(folder)} of the storage can be changed by other users. Run chmod 700 on it or choose another path.`,
    )
}

/**
 * Creates a folder for this user only, and the folders above it. Throws the error of the file system. One at a time, because
 * the option `recursive` never returns where the system refuses a new folder with ENOENT, as in /proc.
 */
export function createFolder(folder: string): void {
  if (isFolder(folder)) return
  const above = dirname(folder)
  if (above !== folder) createFolder(above)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it since.
    if (!isFolder(folder)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Returns the error of the library for one of the file system, of which it keeps the code and the name of the file alone. */
export function fileFailure(path: string, error: unknown): AgentAuthError {
  const { path: where = path } = error as NodeJS.ErrnoException
  return new AgentAuthError(
    'storage_failed',
    `${nameOf(where)} cannot be used (${networkCode(error) ?? 'no code'}). Check the path, its permissions and the free space.`,
    { retryable: true },
  )
}

/** Throws `storage_failed` for a file that stays as it is until the user changes something. */
export function refuse(path: string, what: string): never {
  throw failed(`${nameOf(path)} ${what}.`)
}

function failed(message: string): AgentAuthError {
  return new AgentAuthError('storage_failed', message)
}

/** Returns how a message names a file, because a storage has two of them. */
function nameOf(path: string): string {
  return `The file ${basename(path)} of the storage`
}

/** Never follows a symbolic link in place of the file, and never waits for the other end of a pipe. */
function openToRead(path: string): number | undefined {
  try {
    // Windows has neither flag, and undefined sets none.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP' || code === 'EMLINK') refuse(path, 'is a symbolic link. Put the file itself there')
    throw error
  }
}
