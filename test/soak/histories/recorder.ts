import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import type { TokenStorage } from 'agent-auth'
import type { CallKind, Completed, HistoryEvent, Stamp } from '../checker/history.ts'

/** Returns the monotonic clock that all processes of the machine share, in milliseconds. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Returns a hash that shows whether two tokens are the same, and nothing else. */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('base64url').slice(0, 12)
}

type WithoutStamp<Event> = Event extends HistoryEvent ? Omit<Event, keyof Stamp> : never
/** Writes an event with both clocks. */
export type Write = (event: WithoutStamp<HistoryEvent>) => void

/** Writes each event to a file at once, so that a process that is killed leaves all of them. */
export function fileRecorder(file: string, wallMs: () => number): Write {
  return (event) =>
    appendFileSync(file, `${JSON.stringify({ ...event, monotonicMs: monotonicMs(), wallMs: wallMs() })}\n`)
}

/** Writes how long this process stood still, each time that it did for half a second or more. */
export function recordStalls(write: Write, process: string): void {
  let lastMs = monotonicMs()
  setInterval(() => {
    const nowMs = monotonicMs()
    if (nowMs - lastMs > 500) write({ type: 'stalled', process, forMs: nowMs - lastMs })
    lastMs = nowMs
  }, 200).unref()
}

/** Reads of one call that do not change the session. */
type Ignored = 'all' | 'under the lock'

/** A storage that notes what its holder learned from it. */
export interface WatchedStorage {
  readonly storage: TokenStorage
  /** What the holder knows of the storage. */
  known(): Pick<Completed, 'readMs' | 'savedMs' | 'writeMs' | 'reads'>
  /**
   * Runs a call whose session does not apply all that it reads: `all` of a sign-out, and the reads `under the lock` of a call that asks
   * for a token, which only look whether a record that must be removed is still there.
   */
  ignoringReads<Result>(which: Ignored, run: () => Promise<Result>): Promise<Result>
  /** Returns whether a write of this access token was confirmed. */
  hasSaved(accessToken: string): boolean
}

export function watchedStorage(inner: Required<TokenStorage>): WatchedStorage {
  let readMs: number | undefined
  let reads: 'working' | 'failing' = 'working'
  let savedMs: number | undefined
  let writeMs = 0
  let writes = 0
  let lockedReads = 0
  const ignored = new AsyncLocalStorage<Ignored>()
  const underLock = new AsyncLocalStorage<true>()
  let saved = ''
  return {
    storage: {
      async getItem(key) {
        const [beganMs, writesBefore, lockedBefore] = [monotonicMs(), writes, lockedReads]
        const isLocked = underLock.getStore() === true
        try {
          const value = await inner.getItem(key)
          // A session discards a read during which its own write ended, and a read without the lock during which a read under it ended.
          const isDiscarded = writes !== writesBefore || (!isLocked && lockedReads !== lockedBefore)
          if (!isDiscarded && ignored.getStore() !== 'all') readMs = Math.max(beganMs, readMs ?? 0)
          if (isLocked) lockedReads += 1
          reads = 'working'
          return value
        } catch (error) {
          reads = 'failing'
          throw error
        }
      },
      async setItem(key, value) {
        writeMs = monotonicMs()
        try {
          await inner.setItem(key, value)
        } finally {
          writes += 1
        }
        savedMs = monotonicMs()
        saved = value
      },
      removeItem: (key) => inner.removeItem(key),
      withLock: (name, task, options) =>
        inner.withLock(
          name,
          () => underLock.run(true, () => (ignored.getStore() ? ignored.run('all', task) : task())),
          options,
        ),
    },
    known: () => ({
      ...(readMs === undefined ? {} : { readMs }),
      ...(savedMs === undefined ? {} : { savedMs }),
      writeMs,
      reads,
    }),
    ignoringReads: (which, run) => ignored.run(which, run),
    hasSaved: (accessToken) => saved.includes(accessToken),
  }
}

/** What a call came to, apart from its times. */
export type Outcome = Omit<Completed, keyof Stamp | 'type' | 'call'>

/** Records both ends of a call. */
export async function recorded(
  write: Write,
  call: { id: string; kind: CallKind; holder: string; session: string; token?: string },
  run: () => Promise<Outcome>,
): Promise<void> {
  const { id, holder, ...rest } = call
  write({ type: 'invoked', call: id, process: holder.split('/')[0] ?? '', holder, ...rest })
  const outcome = await run()
  write({ type: 'completed', call: id, ...outcome })
}
