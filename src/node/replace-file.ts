import {
  type BigIntStats,
  closeSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { randomFraction, sleep } from '../internal/timeouts.ts'
import { attempt } from '../internal/values.ts'
import { checkFolder, createFolder, type Trusted } from './private-file.ts'

/** Within this time, in milliseconds, a process that replaces a file is done, unless it was killed or paused. */
export const staleFileMs = 1_500
/** How long a process tries to replace a file, in milliseconds: less than the limit of an operation, and more than `staleFileMs`. */
export const maxFileWaitMs = 2_500
/** The longest wait between two tries to replace a file, in milliseconds. */
export const maxFilePauseMs = 20

/** A file, and the text that it gets. Without a text the file is removed. */
export interface Replacement {
  readonly path: string
  readonly text: string | undefined
  /** Sets whether the text must outlast a power failure. */
  readonly lasts: 'always' | 'until power fails'
}

/**
 * Replaces a file in one step that no other process sees half done. The text is written to the lock file, which one process at a
 * time can create, and which then becomes the file. `change` may run more than once, while no other process with the same lock
 * file changes anything. If it returns undefined, nothing is written. Resolves to whether a file was replaced. Tries again for
 * `maxFileWaitMs`. Rejects with its errors and those of the file system.
 */
export async function replaceFile(
  lockFile: string,
  trusted: Trusted,
  change: () => Replacement | undefined,
): Promise<boolean> {
  createFolder(dirname(lockFile), trusted)
  checkFolder(dirname(lockFile), trusted)
  const wait = takeOverStale(lockFile)
  const endMs = performance.now() + maxFileWaitMs
  for (;;) {
    const outcome = commit(lockFile, trusted, change)
    if (outcome !== 'locked by another') return outcome === 'replaced'
    if (performance.now() > endMs) throw Object.assign(new Error(), { code: 'EBUSY' })
    await sleep(maxFilePauseMs * randomFraction())
    wait()
  }
}

type Outcome = 'replaced' | 'unchanged' | 'locked by another'

/** Runs within one turn of the event loop. */
function commit(lockFile: string, trusted: Trusted, change: () => Replacement | undefined): Outcome {
  const fd = createFile(lockFile, trusted === 'group' ? 0o660 : 0o600)
  if (fd === undefined) return 'locked by another'
  try {
    const { path, text, lasts } = change() ?? {}
    if (!path) return 'unchanged'
    if (text !== undefined) writeFileSync(fd, text)
    if (lasts === 'always') fsyncSync(fd)
    if (!isAt(lockFile, fd)) return 'locked by another'
    if (text === undefined) unlinkSync(path)
    else renameSync(lockFile, path)
    if (lasts === 'always') syncFolder(dirname(path))
    return 'replaced'
  } finally {
    // After a rename another process may have a lock file of its own there.
    if (isAt(lockFile, fd)) unlinkSync(lockFile)
    closeSync(fd)
  }
}

function createFile(path: string, mode: number): number | undefined {
  try {
    return openSync(path, 'wx', mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  }
}

/** Returns whether the open file is the one at this path. Its inode is not given to another file while it is open. */
function isAt(path: string, fd: number): boolean {
  const there = statusOf(path)
  const { dev, ino } = fstatSync(fd, { bigint: true })
  return there?.ino === ino && there.dev === dev
}

function statusOf(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })
}

/** Returns a function to call before each new try. It removes a lock file that does not change, because its process was killed. */
function takeOverStale(lockFile: string): () => void {
  const sameMs = unchangedMs()
  const look = (): string | undefined => {
    const status = statusOf(lockFile)
    return status && `${status.ino} ${status.ctimeNs}`
  }
  return () => {
    const now = look()
    if (sameMs(lockFile, now) > staleFileMs && look() === now) attempt(() => unlinkSync(lockFile))
  }
}

/** Makes a rename last through a power failure. Some platforms cannot open a folder. */
function syncFolder(folder: string): void {
  attempt(() => {
    const fd = openSync(folder, 'r')
    try {
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  })
}

/**
 * Returns a function that says for how many milliseconds what stands under a name has been the same, since it was first asked about.
 * The time is that of this process alone, so that no step of the machine's clock has an effect.
 */
export function unchangedMs(): (name: string, mark: string | undefined) => number {
  const seen = new Map<string, { readonly mark: string; readonly sinceMs: number }>()
  return (name, mark) => {
    const nowMs = performance.now()
    const last = seen.get(name)
    if (mark !== undefined && last?.mark === mark) return nowMs - last.sinceMs
    if (mark === undefined) seen.delete(name)
    else seen.set(name, { mark, sinceMs: nowMs })
    return 0
  }
}
