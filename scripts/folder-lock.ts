import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** How often the owner shows that it still runs. */
const renewMs = 1_000
/** A lock that was not renewed for so long has an owner that was killed. */
const staleMs = 10_000
const pollMs = 200

/**
 * Runs work in a folder while no other process runs work there. `onWait` is called once if another one has the lock.
 *
 * The lock is the subfolder `.installing` with a file of the owner in it. A rename sets up both at once, because it succeeds only
 * while there is no such folder or an empty one. The lock of a killed owner ends by the removal of that owner's file, which cannot
 * end the lock of another process.
 */
export async function withFolderLock<T>(
  folder: string,
  { work, onWait }: { work: () => Promise<T>; onWait: () => void },
): Promise<T> {
  const lock = `${folder}/.installing`
  const owner = randomUUID()
  if (!tryLock(lock, owner)) {
    onWait()
    while (!tryLock(lock, owner)) {
      endStaleLock(lock)
      await delay(pollMs)
    }
  }
  const renewal = setInterval(() => renew(`${lock}/${owner}`), renewMs)
  try {
    return await work()
  } finally {
    clearInterval(renewal)
    unlock(lock, owner)
  }
}

function tryLock(lock: string, owner: string): boolean {
  const prepared = `${lock}-${owner}`
  mkdirSync(prepared)
  writeFileSync(`${prepared}/${owner}`, '')
  try {
    renameSync(prepared, lock)
    return true
  } catch (error) {
    rmSync(prepared, { recursive: true })
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST')) return false
    throw error
  }
}

function endStaleLock(lock: string): void {
  ignoring(['ENOENT'], () => {
    for (const owner of readdirSync(lock))
      if (Date.now() - statSync(`${lock}/${owner}`).mtimeMs > staleMs) rmSync(`${lock}/${owner}`)
  })
}

/** The file is missing if this process stopped for so long that another one ended its lock. */
function renew(file: string): void {
  ignoring(['ENOENT'], () => utimesSync(file, new Date(), new Date()))
}

function unlock(lock: string, owner: string): void {
  rmSync(`${lock}/${owner}`, { force: true })
  ignoring(['ENOENT', 'ENOTEMPTY', 'EEXIST'], () => rmdirSync(lock))
}

function ignoring(codes: readonly string[], act: () => void): void {
  try {
    act()
  } catch (error) {
    if (!hasCode(error, ...codes)) throw error
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
