import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  type Stats,
  statSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { AgentAuthError } from '../errors.ts'
import { networkCode } from '../storage/shared/network-code.ts'

/** Who may read and change the files besides this user. */
export type Trusted = 'no one' | 'group'

/** Returns the text of a file that only those who are trusted can read, or undefined if there is none. Throws `storage_failed`. */
export function readPrivateFile(path: string, trusted: Trusted = 'no one'): string | undefined {
  checkFolder(dirname(path), trusted)
  const fd = openToRead(path)
  if (fd === undefined) return undefined
  try {
    const status = fstatSync(fd)
    if (!status.isFile()) refuse(path, 'is no regular file. Choose another path')
    // Windows has neither user ids nor modes.
    if (process.geteuid) checkFile(path, fd, status, trusted)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

function checkFile(path: string, fd: number, { uid, mode }: Stats, trusted: Trusted): void {
  if (trusted === 'no one' && uid !== process.geteuid?.())
    refuse(path, 'belongs to another user. Choose another path, or set trustGroup if the platform sets owners')
  if (mode & 0o007)
    refuse(path, 'was open to all users. Run chmod 600 on it, and sign in again, because they may have read it')
  if (trusted === 'no one' && mode & 0o070 && !tightened(nameOf(path), () => fchmodSync(fd, 0o600)))
    refuse(path, 'is open to its group, and its mode cannot be changed. Choose another path, or set trustGroup')
}

/** Throws `storage_failed` if users who are not trusted can replace files of a folder. Closes one of this user to its group. */
export function checkFolder(folder: string, trusted: Trusted): void {
  const status = process.geteuid && statSync(folder, { throwIfNoEntry: false })
  if (!status) return
  const { uid, mode } = status
  const isOwn = uid === process.geteuid?.()
  // In a folder with the sticky bit, users can replace only files of their own.
  const writers = mode & 0o1000 ? 0 : mode & 0o022
  const what = `The folder ${basename(folder)} of the storage`
  const isClosed = (): boolean =>
    writers === 0 ? isOwn || uid === 0 : isOwn && tightened(what, () => chmodSync(folder, mode & 0o7755))
  if (!(writers & 0o002) && (trusted === 'group' || isClosed())) return
  throw failed(
    `${what} can be changed by other users. Run chmod 700 on it, choose another, or set trustGroup if the platform sets its modes.`,
  )
}

/** Closes what belongs to this user to its group, and warns. Returns whether the file system allowed it. */
function tightened(what: string, change: () => void): boolean {
  try {
    change()
  } catch {
    return false
  }
  process.emitWarning(`${what} was open to its group and is now closed to it. If that is not wanted, set trustGroup.`, {
    type: 'AgentAuthWarning',
    code: 'AGENT_AUTH_FILE_MODE',
  })
  return true
}

/**
 * Creates a folder for those who are trusted, and the folders above it. Throws the error of the file system. One at a time, because
 * the option `recursive` never returns where the system refuses a new folder with ENOENT, as in /proc.
 */
export function createFolder(folder: string, trusted: Trusted): void {
  const above = dirname(folder)
  if (existsSync(folder) || above === folder) return
  createFolder(above, trusted)
  try {
    mkdirSync(folder, { mode: trusted === 'group' ? 0o770 : 0o700 })
  } catch (error) {
    // Another process may have created it since.
    if (!existsSync(folder)) throw error
  }
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
