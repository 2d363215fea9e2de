import type { Clock } from '../../internal/clock.ts'
import { succeeds, withTimeout } from '../../internal/timeouts.ts'
import type { SessionRecord } from '../../session/record.ts'
import { bounded } from '../../storage/lock.ts'
import { removeOldest } from './live-sessions.ts'
import type { LockedStorage } from './session-storage.ts'

const notesPerIdleTime = 10
/** How long a request waits until its use is noted. The write continues. */
const maxNoteWaitMs = 1_000
const maxRememberedUses = 10_000

/**
 * `usedMs`: the last use, whether or not the storage took its note, because a storage that takes no writes must not end a session in use.
 * `notedMs`: the last use that was noted, or that the storage has.
 */
type Known = { readonly usedMs: number; readonly notedMs: number }

/**
 * When each session was used last, for all processes, by the names of their records. A session that was not used for `idleMs` is
 * refused. A use is noted once in a tenth of `idleMs`, so this may happen after 90 % of it.
 */
export type LastUses = ReturnType<typeof lastUses>

export function lastUses(sessions: LockedStorage, { clock, idleMs }: { clock: Clock; idleMs: number }) {
  // A session name has four parts, so a name with a fifth is that of no session.
  const nameOf = (name: string): string => `${name}:last-use`
  const known = new Map<string, Known>()

  function remember(name: string, change: Partial<Known>): void {
    const entry = { usedMs: 0, notedMs: 0, ...known.get(name), ...change }
    known.delete(name)
    known.set(name, entry)
    removeOldest(known, maxRememberedUses)
  }

  return {
    /** Returns whether the session was not used for `idleMs`. Rejects if the storage cannot be read. */
    async isIdle(name: string, { tokens }: SessionRecord): Promise<boolean> {
      const isIdleNow = async (): Promise<boolean> => {
        // Tokens are obtained only for a session in use, so the time of the newest ones counts as a use. There may be no note.
        const notedMs = Math.max(tokens.obtainedAtMs, Number(await sessions.getItem(nameOf(name))) || 0)
        const usedMs = Math.max(notedMs, known.get(name)?.usedMs ?? 0)
        remember(name, { notedMs, usedMs })
        return clock.wallMs() - usedMs >= idleMs
      }
      // A database may read from a copy that lags behind. Under any lock it reads from its primary.
      return (await isIdleNow()) && sessions.withLock(nameOf(name), isIdleNow)
    },
    /** Notes a use of a session that is not idle. Never rejects. */
    note(name: string): Promise<unknown> | undefined {
      const nowMs = clock.wallMs()
      const { notedMs = 0 } = known.get(name) ?? {}
      remember(name, { usedMs: nowMs })
      if (nowMs - notedMs < idleMs / notesPerIdleTime) return undefined
      // At once and also if the write fails, so that a storage that takes no writes is not asked at every request.
      remember(name, { notedMs: nowMs })
      return succeeds(
        withTimeout(
          maxNoteWaitMs,
          bounded(async () => sessions.setItem(nameOf(name), String(nowMs))),
        ),
      )
    },
    /** Returns when the session is idle if it is not used again, in epoch milliseconds. Undefined before the first `isIdle`. */
    endsAtMs(name: string): number | undefined {
      const entry = known.get(name)
      return entry && entry.usedMs + idleMs
    },
    /** Removes the note of a session that was removed. Never rejects. */
    forget(name: string): Promise<unknown> {
      known.delete(name)
      return succeeds(bounded(async () => sessions.removeItem(nameOf(name))))
    },
  }
}
